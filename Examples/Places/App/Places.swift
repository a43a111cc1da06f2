import Foundation
import GraphMapper

/// What the app knows of places. It does not know where they are kept: `ToMany` is all that it has of GraphMapper.
public protocol Place {
    var id: Int { get }
    var info: any PlaceInfo { get }
    var location: any Location { get }
    /// The oldest first.
    var comments: ToMany<any PlaceComment> { get }
}

public protocol PlaceInfo {
    var name: String { get }
    var homepage: URL? { get }
}

public protocol Location {
    var latitude: Double { get }
    var longitude: Double { get }
    /// In meters; nil where nobody has measured it.
    var altitude: Double? { get }
}

public protocol PlaceComment {
    var author: String { get }
    var text: String { get }
    /// The place that the comment is about.
    ///
    /// - Throws: ``PlaceIsGone``.
    func place() async throws -> any Place
}

/// A comment whose place nobody keeps any more.
public struct PlaceIsGone: Error, Equatable, CustomStringConvertible {
    public let comment: Int
    public init(comment: Int) { self.comment = comment }
    public var description: String { "the place of comment \(comment) is gone" }
}

/// All questions that the app asks about places.
public protocol PlaceRepository {
    /// The places whose names start so, by name.
    func places(startingWith prefix: String) async throws -> [any Place]
    /// The places not farther away than so many degrees, by name.
    func places(near latitude: Double, _ longitude: Double, within degrees: Double) async throws -> [any Place]
    /// Forgets a place. Its comments stay.
    func remove(placeWithID id: Int) async throws
}
