import Foundation
import GraphMapper
import PlacesApp

/// Places in arrays: for previews and tests of the app.
final class PlainPlaces: PlaceRepository {
    private var places: [PlainPlace] = []

    init() {
        places = SamplePlace.all.map { sample in
            let comments = (0..<sample.comments).map { index in
                let comment = sample.comment(index)
                return PlainComment(id: comment.id, author: comment.author, text: comment.text)
            }
            let place = PlainPlace(sample, comments)
            for comment in comments { comment.about = place }
            return place
        }
    }

    private func sorted(_ isWanted: (PlainPlace) -> Bool) -> [any Place] {
        places.filter(isWanted).sorted { $0.sample.name < $1.sample.name }
    }

    func places(startingWith prefix: String) async throws -> [any Place] {
        sorted { $0.sample.name.hasPrefix(prefix) }
    }

    func places(near latitude: Double, _ longitude: Double, within degrees: Double) async throws -> [any Place] {
        sorted { abs($0.latitude - latitude) <= degrees && abs($0.longitude - longitude) <= degrees }
    }

    func remove(placeWithID id: Int) async throws {
        for comment in places.first(where: { $0.id == id })?.list ?? [] { comment.about = nil }
        places.removeAll { $0.id == id }
    }
}

final class PlainPlace: Place, PlaceInfo, Location {
    let sample: SamplePlace
    let list: [PlainComment]

    init(_ sample: SamplePlace, _ list: [PlainComment]) {
        self.sample = sample
        self.list = list
    }

    var id: Int { sample.id }
    var info: any PlaceInfo { self }
    var location: any Location { self }
    var comments: ToMany<any PlaceComment> { ToMany(list).mapped { $0 } }
    var name: String { sample.name }
    var homepage: URL? { sample.homepage.flatMap(URL.init(string:)) }
    var latitude: Double { sample.latitude }
    var longitude: Double { sample.longitude }
    var altitude: Double? { sample.altitude }
}

final class PlainComment: PlaceComment {
    let id: Int
    let author: String
    let text: String
    weak var about: PlainPlace?

    init(id: Int, author: String, text: String) {
        self.id = id
        self.author = author
        self.text = text
    }

    func place() async throws -> any Place {
        guard let about else { throw PlaceIsGone(comment: id) }
        return about
    }
}
