import GraphMapperStore
import Testing

@testable import GraphMapper

/// A key that is made of a number: of one column or of two.
protocol ChoirKey: Storable, Hashable, Sendable {
    init(ofChoir number: Int)
}
extension Int: ChoirKey {
    init(ofChoir number: Int) { self = number }
}
struct ChoirPair: EmbeddedValue, Hashable, ChoirKey {
    var tens: Int
    var ones: Int
    static let schema = Schema<Self> { row in try Self(tens: row("tens", \.tens), ones: row("ones", \.ones)) }
    init(tens: Int, ones: Int) { (self.tens, self.ones) = (tens, ones) }
    init(ofChoir number: Int) { self.init(tens: number / 10, ones: number % 10) }
}

/// Generic types have no stored statics: their schemas are kept here.
private let choirSchemas = Locked<[ObjectIdentifier: any Sendable]>([:])
private func choirSchema<D>(_ make: () -> Schema<D>) -> Schema<D> {
    if let known = choirSchemas.withLock({ $0[ObjectIdentifier(D.self)] }) as? Schema<D> { return known }
    let schema = make()
    choirSchemas.withLock { $0[ObjectIdentifier(D.self)] = schema }
    return schema
}

/// An owner with a link of each kind.
final class Choir<K: ChoirKey> {
    let id: K
    var name = ""
    /// By an ordered list.
    var songs: [Song<K>] = []
    /// By a set.
    var encores: Set<Song<K>> = []
    /// By a foreign key of its own.
    var opener: Song<K>?
    /// By the singers' foreign key.
    var singers: [Singer<K>] = []
    /// By the hall's foreign key.
    var hall: Hall<K>?
    init(id: K) { self.id = id }
}
final class Song<K: ChoirKey>: Hashable {
    let id: K
    var name = ""
    init(id: K) { self.id = id }
    static func == (left: Song, right: Song) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
final class Singer<K: ChoirKey> {
    let id: K
    var name = "" { didSet { onName?(name) } }
    weak var choir: Choir<K>?
    /// Not mapped: what a test does when the name is set.
    var onName: ((String) -> Void)?
    init(id: K) { self.id = id }
}
final class Hall<K: ChoirKey> {
    let id: K
    var name = ""
    weak var choir: Choir<K>?
    init(id: K) { self.id = id }
}

/// A record whose model also comes by a nested DTO and by an object of a class.
protocol ChoirRecord: StoredRecord where Model: AnyObject {
    associatedtype Payload: DTO, Identifiable
    where Payload.Model == Model, Payload.ID == ID, Payload.Row == Payload
    associatedtype Object: DTO, Identifiable, AnyObject
    where Object.Model == Model, Object.ID == ID, Object.Row == Object
    static func record(_ id: ID) -> Self
    static func query(_ id: ID) -> Query<Self>
    static func payload(_ id: ID) -> Payload
    static func object(_ id: ID) -> Object
    static func model(_ id: ID) -> Model
}

struct ChoirRow<K: ChoirKey>: StoredRecord {
    typealias Model = Choir<K>
    let id: K
    var name = ""
    var songs: [Ref<SongRow<K>>] = []
    var encores: Set<Ref<SongRow<K>>> = []
    var opener: Ref<SongRow<K>>?
    static var schema: Schema<Self> {
        choirSchema {
            Schema("choir") { row in
                try Self(
                    id: row("id", \.id), name: row("name", \.name), songs: row("songs", \.songs),
                    encores: row("encores", \.encores), opener: row("opener", \.opener))
            }
        }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Choir(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Many(\.songs, \.songs)
            Many(\.encores, \.encores)
            One(\.opener, \.opener)
            Many(SingerRow<K>.self, by: \.choir, \.singers)
            One(HallRow<K>.self, by: \.choir, \.hall)
        }
    }
}
struct SongRow<K: ChoirKey>: ChoirRecord {
    typealias Model = Song<K>
    let id: K
    var name = ""
    static var schema: Schema<Self> {
        choirSchema { Schema("song") { row in try Self(id: row("id", \.id), name: row("name", \.name)) } }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Song(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
    static func record(_ id: K) -> Self { Self(id: id) }
    static func query(_ id: K) -> Query<Self> { Query(Self.self).where { $0.id == id } }
    static func payload(_ id: K) -> SongPayload<K> { SongPayload(id: id) }
    static func object(_ id: K) -> SongObject<K> {
        let object = SongObject<K>()
        object.id = id
        return object
    }
    static func model(_ id: K) -> Song<K> { Song(id: id) }
}
struct SingerRow<K: ChoirKey>: ChoirRecord {
    typealias Model = Singer<K>
    let id: K
    var name = ""
    var choir: Ref<ChoirRow<K>>?
    static var schema: Schema<Self> {
        choirSchema {
            Schema("singer") { row in
                try Self(id: row("id", \.id), name: row("name", \.name), choir: row("choir", \.choir))
            }
        }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Singer(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Back(\.choir, \.choir)
        }
    }
    static func record(_ id: K) -> Self { Self(id: id) }
    static func query(_ id: K) -> Query<Self> { Query(Self.self).where { $0.id == id } }
    static func payload(_ id: K) -> SingerPayload<K> { SingerPayload(id: id) }
    static func object(_ id: K) -> SingerObject<K> {
        let object = SingerObject<K>()
        object.id = id
        return object
    }
    static func model(_ id: K) -> Singer<K> { Singer(id: id) }
}
struct HallRow<K: ChoirKey>: ChoirRecord {
    typealias Model = Hall<K>
    let id: K
    var name = ""
    var choir: Ref<ChoirRow<K>>?
    static var schema: Schema<Self> {
        choirSchema {
            Schema("hall") { row in
                try Self(id: row("id", \.id), name: row("name", \.name), choir: row("choir", \.choir))
            }
        }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Hall(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Back(\.choir, \.choir)
        }
    }
    static func record(_ id: K) -> Self { Self(id: id) }
    static func query(_ id: K) -> Query<Self> { Query(Self.self).where { $0.id == id } }
    static func payload(_ id: K) -> HallPayload<K> { HallPayload(id: id) }
    static func object(_ id: K) -> HallObject<K> {
        let object = HallObject<K>()
        object.id = id
        return object
    }
    static func model(_ id: K) -> Hall<K> { Hall(id: id) }
}

// The payloads: everything but ids may be missing.
struct SongPayload<K: ChoirKey>: DTO, Identifiable {
    typealias Model = Song<K>
    let id: K
    var name: Tristate<String> = .unset
    static var schema: Schema<Self> {
        choirSchema { Schema("song") { row in try Self(id: row("id", \.id), name: row("name", \.name)) } }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Song(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}
struct SingerPayload<K: ChoirKey>: DTO, Identifiable {
    typealias Model = Singer<K>
    let id: K
    var name: Tristate<String> = .unset
    static var schema: Schema<Self> {
        choirSchema { Schema("singer") { row in try Self(id: row("id", \.id), name: row("name", \.name)) } }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Singer(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}
struct HallPayload<K: ChoirKey>: DTO, Identifiable {
    typealias Model = Hall<K>
    let id: K
    var name: Tristate<String> = .unset
    static var schema: Schema<Self> {
        choirSchema { Schema("hall") { row in try Self(id: row("id", \.id), name: row("name", \.name)) } }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Hall(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}
struct ChoirPayload<K: ChoirKey>: DTO, Identifiable {
    typealias Model = Choir<K>
    let id: K
    var name: Tristate<String> = .unset
    var songs: Tristate<[SongPayload<K>]> = .unset
    var opener: Tristate<SongPayload<K>> = .unset
    var singers: Tristate<[SingerPayload<K>]> = .unset
    var hall: Tristate<HallPayload<K>> = .unset
    static var schema: Schema<Self> {
        choirSchema {
            Schema("choir") { row in
                try Self(
                    id: row("id", \.id), name: row("name", \.name), songs: row.nested("songs", \.songs),
                    opener: row.nested("opener", \.opener), singers: row.nested("singers", \.singers),
                    hall: row.nested("hall", \.hall))
            }
        }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Choir(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Many(\.songs, \.songs)
            One(\.opener, \.opener)
            Many(\.singers, \.singers)
            One(\.hall, \.hall)
        }
    }
}

// Objects of classes.
final class SongObject<K: ChoirKey>: DTO, Identifiable {
    typealias Model = Song<K>
    typealias Row = SongObject
    var id = K(ofChoir: 0)
    static var schema: Schema<SongObject> {
        choirSchema { Schema<SongObject>("song", SongObject.init) { row in row("id", \.id) } }
    }
    static var mapping: Mapping<SongObject> {
        Mapping {
            Song(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
final class SingerObject<K: ChoirKey>: DTO, Identifiable {
    typealias Model = Singer<K>
    typealias Row = SingerObject
    var id = K(ofChoir: 0)
    static var schema: Schema<SingerObject> {
        choirSchema { Schema<SingerObject>("singer", SingerObject.init) { row in row("id", \.id) } }
    }
    static var mapping: Mapping<SingerObject> {
        Mapping {
            Singer(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
final class HallObject<K: ChoirKey>: DTO, Identifiable {
    typealias Model = Hall<K>
    typealias Row = HallObject
    var id = K(ofChoir: 0)
    static var schema: Schema<HallObject> {
        choirSchema { Schema<HallObject>("hall", HallObject.init) { row in row("id", \.id) } }
    }
    static var mapping: Mapping<HallObject> {
        Mapping {
            Hall(id: $0.id)
        } properties: {
            Field(\.id, \.id)
        }
    }
}
final class ChoirObject<K: ChoirKey>: DTO, Identifiable {
    typealias Model = Choir<K>
    typealias Row = ChoirObject
    var id = K(ofChoir: 0)
    var songs: [SongObject<K>] = []
    static var schema: Schema<ChoirObject> {
        choirSchema {
            Schema<ChoirObject>("choir", ChoirObject.init) { row in
                row("id", \.id)
                row.many("songs", \.songs)
            }
        }
    }
    static var mapping: Mapping<ChoirObject> {
        Mapping {
            Choir(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.songs, \.songs)
        }
    }
}

/// A store with choir 1, which has the songs 1 and 2 in its list, 1 among its encores and as opener, the singers 1 and 2 and
/// hall 1, and with choir 2, which has nothing.
final class Festival<K: ChoirKey> {
    let store: GraphStore

    init() async throws {
        store = try await GraphStore.open(
            .inMemory, ChoirRow<K>.self, SongRow<K>.self, SingerRow<K>.self, HallRow<K>.self)
        let one = K(ofChoir: 1)
        let two = K(ofChoir: 2)
        try await store.write { tx in
            try await tx.insert(contentsOf: [SongRow(id: one), SongRow(id: two)])
            try await tx.insert(
                ChoirRow(id: one, songs: [Ref(one), Ref(two)], encores: [Ref(one)], opener: Ref(one)))
            try await tx.insert(ChoirRow(id: two))
            try await tx.insert(contentsOf: [SingerRow(id: one, choir: Ref(one)), SingerRow(id: two, choir: Ref(one))])
            try await tx.insert(HallRow(id: one, choir: Ref(one)))
        }
    }

    func session(_ retention: Retention = .strong) -> GraphSession {
        GraphSession(
            store,
            [
                ChoirRow<K>.mapping, SongRow<K>.mapping, SingerRow<K>.mapping, HallRow<K>.mapping,
                ChoirPayload<K>.mapping, SongPayload<K>.mapping, SingerPayload<K>.mapping, HallPayload<K>.mapping,
                ChoirObject<K>.mapping, SongObject<K>.mapping, SingerObject<K>.mapping, HallObject<K>.mapping,
            ], retention: retention)
    }

    /// A choir of the store.
    func choir(_ number: Int, in session: GraphSession, loading: Loading = .all) async throws -> Choir<K> {
        try #require(try await session.find(ChoirRow<K>.self, K(ofChoir: number), loading: loading))
    }
}

/// Something that one task waits for and another one lets happen.
final class Signal: Sendable {
    private let opened: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (opened, continuation) = AsyncStream<Void>.makeStream() }

    func open() { continuation.finish() }
    func wait() async { for await _ in opened {} }
}

/// What work has come to that may never end.
enum Ending: Sendable {
    case done
    case failed(any Error)
    /// It had not ended long after it should have.
    case hangs

    var isHanging: Bool { if case .hangs = self { true } else { false } }

    /// Runs work that may wait for itself for ever, as a task that is left behind then.
    @MainActor static func of(_ work: @escaping @MainActor () async throws -> Void) async -> Ending {
        let ended = Signal()
        let ending = Locked(Ending.hangs)
        let note: @Sendable (Ending) -> Void = { value in ending.withLock { $0 = value } }
        Task { @MainActor in
            do {
                try await work()
                note(.done)
            } catch { note(.failed(error)) }
            ended.open()
        }
        // Nothing waits for this but a test that fails.
        let patience = Task {
            try await Task.sleep(for: .seconds(120))
            ended.open()
        }
        await ended.wait()
        patience.cancel()
        return ending.withLock { $0 }
    }
}
