import Foundation
import GraphMapperStore
import PlacesApp

/// Coordinates: columns of their place's row.
struct StoredLocation: EmbeddedValue, Location {
    let latitude: Double
    let longitude: Double
    let altitude: Double?

    static let schema = Schema<Self> { row in
        try Self(
            latitude: row("latitude", \.latitude), longitude: row("longitude", \.longitude),
            altitude: row("altitude", \.altitude))
    }
}

struct PlaceRecord: StoredRecord {
    let id: Int
    let name: String
    let homepage: URL?
    let location: StoredLocation

    static let schema = Schema<Self>("place") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), homepage: row("homepage", \.homepage),
            location: row("location", \.location))
    }
    static let indexes: [Index<Self>] = [.on(\.name)]
}

struct CommentRecord: StoredRecord {
    let id: Int
    let place: Ref<PlaceRecord>?
    let author: String
    let text: String

    static let schema = Schema<Self>("comment") { row in
        try Self(
            id: row("id", \.id), place: row("place_id", \.place), author: row("author", \.author),
            text: row("text", \.text))
    }
    static let indexes: [Index<Self>] = [.on(\.place, \.id)]
    static let linkRules: [LinkRule<Self>] = [.nullify(\.place)]
}

/// Places in a `GraphStore`. All queries of the app stand here.
struct StoredPlaces: PlaceRepository {
    let store: GraphStore

    init(log: @escaping @Sendable (String) -> Void) async throws {
        var options = GraphStore.Options()
        options.prepare = { try $0.onStatement(log) }
        store = try await GraphStore.open(.inMemory, options: options, PlaceRecord.self, CommentRecord.self)
        try await store.write { transaction in
            for place in SamplePlace.all {
                try await transaction.insert(
                    PlaceRecord(
                        id: place.id, name: place.name, homepage: place.homepage.flatMap(URL.init(string:)),
                        location: StoredLocation(
                            latitude: place.latitude, longitude: place.longitude, altitude: place.altitude)))
                try await transaction.insert(
                    contentsOf: (0..<place.comments).lazy.map { index in
                        let comment = place.comment(index)
                        return CommentRecord(
                            id: comment.id, place: Ref(place.id), author: comment.author, text: comment.text)
                    })
            }
        }
    }

    func places(startingWith prefix: String) async throws -> [any Place] {
        try await places(Query(PlaceRecord.self).where { $0.name.hasPrefix(prefix) })
    }

    func places(near latitude: Double, _ longitude: Double, within degrees: Double) async throws -> [any Place] {
        try await places(
            Query(PlaceRecord.self).where {
                $0.location.latitude.isIn(latitude - degrees...latitude + degrees)
                $0.location.longitude.isIn(longitude - degrees...longitude + degrees)
            })
    }

    private func places(_ query: Query<PlaceRecord>) async throws -> [any Place] {
        try await store.fetch(query.sorted(by: \.name)).map { StoredPlace(record: $0, places: self) }
    }

    func remove(placeWithID id: Int) async throws {
        try await store.write { transaction in
            _ = try await transaction.delete(PlaceRecord.self, id)
        }
    }

    func comments(of place: Ref<PlaceRecord>) -> ToMany<any PlaceComment> {
        let query = Query(CommentRecord.self).where { $0.place == place }.sorted(by: \.id)
        return store.toMany(query) {
            StoredComment(record: $0, places: self)
        } otherwise: { _, _ in
            LostComment()
        }
    }

    func place(of comment: Int) async throws -> any Place {
        try await store.read { transaction in
            guard let now = try await transaction.find(CommentRecord.self, comment), let place = now.place,
                let record = try await transaction.find(PlaceRecord.self, place.id)
            else { throw PlaceIsGone(comment: comment) }
            return StoredPlace(record: record, places: self)
        }
    }
}

/// A record as the app sees it.
struct StoredPlace: Place {
    let record: PlaceRecord
    let places: StoredPlaces

    var id: Int { record.id }
    var info: any PlaceInfo { StoredInfo(record: record) }
    var location: any Location { record.location }
    var comments: ToMany<any PlaceComment> { places.comments(of: Ref(record.id)) }
}

struct StoredInfo: PlaceInfo {
    let record: PlaceRecord
    var name: String { record.name }
    var homepage: URL? { record.homepage }
}

struct StoredComment: PlaceComment {
    let record: CommentRecord
    let places: StoredPlaces

    var author: String { record.author }
    var text: String { record.text }
    func place() async throws -> any Place { try await places.place(of: record.id) }
}

/// What a cell shows for a comment that has vanished since it was counted.
struct LostComment: PlaceComment {
    let author = ""
    let text = "…"
    func place() async throws -> any Place { throw PlaceIsGone(comment: 0) }
}
