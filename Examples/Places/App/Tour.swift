/// What a person sees who looks through the app: the same lines, whatever the repository.
public func tour(_ repository: any PlaceRepository) async throws -> [String] {
    var lines: [String] = []
    for place in try await repository.places(startingWith: "") {
        let altitude = place.location.altitude.map { "\(Int($0)) m" } ?? "altitude unknown"
        let homepage = place.info.homepage.map { ", \($0.absoluteString)" } ?? ""
        lines.append("\(place.info.name) (\(altitude)\(homepage)): \(place.comments.count) comments")
    }
    let near = try await repository.places(near: 48, 10, within: 0.6)
    lines.append("near 48, 10: " + near.map(\.info.name).joined(separator: ", "))

    guard let minster = try await repository.places(startingWith: "Ulm").first else { return lines }
    let comments = minster.comments
    for index in [0, comments.count / 2, comments.count - 1] where comments.indices.contains(index) {
        lines.append("comment \(index): \(comments[index].author): \(comments[index].text)")
    }
    lines.append("the last three: " + comments.suffix(3).map(\.author).joined(separator: ", "))
    lines.append("comment 5 is about " + (try await comments[5].place().info.name))

    let orphan = comments[7]
    try await repository.remove(placeWithID: minster.id)
    do {
        lines.append("comment 7 is about " + (try await orphan.place().info.name))
    } catch let error as PlaceIsGone {
        lines.append("comment 7: \(error)")
    }
    return lines
}
