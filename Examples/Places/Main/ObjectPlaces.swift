import Foundation
import GraphMapper
import PlacesApp

/// A stand-in for somebody else's object database: its objects are classes that read their values when asked, and its
/// results hand them out by position.
final class ObjectDatabase {
    final class Object {
        private var values: [String: Any]
        private(set) var isDeleted = false
        init(_ values: [String: Any]) { self.values = values }
        func value<T>(_ name: String) -> T? { isDeleted ? nil : values[name] as? T }
        func set(_ name: String, _ value: Any?) { values[name] = value }
        func delete() {
            isDeleted = true
            values = [:]
        }
    }

    struct Results {
        fileprivate let objects: [Object]
        var count: Int { objects.count }
        func object(at index: Int) -> Object { objects[index] }
    }

    private var tables: [String: [Object]] = [:]

    func create(_ table: String, _ values: [String: Any?]) -> Object {
        let object = Object(values.compactMapValues { $0 })
        tables[table, default: []].append(object)
        return object
    }

    func results(_ table: String, _ isWanted: (Object) -> Bool = { _ in true }) -> Results {
        Results(objects: (tables[table] ?? []).filter { !$0.isDeleted && isWanted($0) })
    }
}

/// Places in that database. Its objects stay behind the protocols.
final class ObjectPlaces: PlaceRepository {
    private let database = ObjectDatabase()

    init() {
        for sample in SamplePlace.all {
            let place = database.create(
                "Place",
                [
                    "id": sample.id, "name": sample.name, "homepage": sample.homepage, "latitude": sample.latitude,
                    "longitude": sample.longitude, "altitude": sample.altitude,
                ])
            let comments = (0..<sample.comments).map { index in
                let comment = sample.comment(index)
                return database.create(
                    "Comment",
                    ["id": comment.id, "author": comment.author, "text": comment.text, "place": place])
            }
            place.set("comments", comments)
        }
    }

    private func places(_ isWanted: (ObjectPlace) -> Bool) -> [any Place] {
        let results = database.results("Place") { isWanted(ObjectPlace(object: $0)) }
        return ToMany(count: { results.count }, at: { ObjectPlace(object: results.object(at: $0)) })
            .sorted { $0.name < $1.name }
    }

    func places(startingWith prefix: String) async throws -> [any Place] { places { $0.name.hasPrefix(prefix) } }

    func places(near latitude: Double, _ longitude: Double, within degrees: Double) async throws -> [any Place] {
        places { abs($0.latitude - latitude) <= degrees && abs($0.longitude - longitude) <= degrees }
    }

    func remove(placeWithID id: Int) async throws {
        let results = database.results("Place") { $0.value("id") == id }
        for index in 0..<results.count { results.object(at: index).delete() }
    }
}

/// An object as the app sees it.
struct ObjectPlace: Place, PlaceInfo, Location {
    let object: ObjectDatabase.Object

    var id: Int { object.value("id") ?? 0 }
    var info: any PlaceInfo { self }
    var location: any Location { self }
    var comments: ToMany<any PlaceComment> {
        let list: [ObjectDatabase.Object] = object.value("comments") ?? []
        return ToMany(count: { list.count }, at: { ObjectComment(object: list[$0]) })
    }
    var name: String { object.value("name") ?? "" }
    var homepage: URL? { object.value("homepage").flatMap { (text: String) in URL(string: text) } }
    var latitude: Double { object.value("latitude") ?? 0 }
    var longitude: Double { object.value("longitude") ?? 0 }
    var altitude: Double? { object.value("altitude") }
}

struct ObjectComment: PlaceComment {
    let object: ObjectDatabase.Object

    var author: String { object.value("author") ?? "" }
    var text: String { object.value("text") ?? "" }
    func place() async throws -> any Place {
        guard let place: ObjectDatabase.Object = object.value("place"), !place.isDeleted else {
            throw PlaceIsGone(comment: object.value("id") ?? 0)
        }
        return ObjectPlace(object: place)
    }
}
