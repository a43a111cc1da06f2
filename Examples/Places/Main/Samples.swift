import Foundation

/// What each implementation is filled with.
struct SamplePlace: Sendable {
    let id: Int
    let name: String
    let homepage: String?
    let latitude: Double
    let longitude: Double
    let altitude: Double?
    let comments: Int

    static let all = [
        SamplePlace(
            id: 1, name: "Ulm Minster", homepage: "https://www.ulmer-muenster.de", latitude: 48.3985, longitude: 9.9925,
            altitude: 478, comments: 10_000),
        SamplePlace(
            id: 2, name: "Blautopf", homepage: nil, latitude: 48.4162, longitude: 9.7839, altitude: nil, comments: 3),
        SamplePlace(
            id: 3, name: "Zugspitze", homepage: nil, latitude: 47.4211, longitude: 10.9853, altitude: 2962, comments: 0),
    ]

    /// Numbers of comments go up over all places.
    func comment(_ index: Int) -> (id: Int, author: String, text: String) {
        (id * 100_000 + index, "visitor \(index % 97)", "\(name), visit \(index)")
    }
}
