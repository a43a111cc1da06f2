import GraphMapperStore
import Testing

@testable import GraphMapper

/// A key that is made of a number: of one column or of two.
protocol OverlapKey: Storable, Hashable, Sendable {
    init(number: Int)
    var number: Int { get }
}
extension Int: OverlapKey {
    init(number: Int) { self = number }
    var number: Int { self }
}
struct OverlapPair: EmbeddedValue, Hashable, OverlapKey {
    var tens: Int
    var ones: Int
    static let schema = Schema<Self> { row in try Self(tens: row("tens", \.tens), ones: row("ones", \.ones)) }
    init(tens: Int, ones: Int) { (self.tens, self.ones) = (tens, ones) }
    init(number: Int) { self.init(tens: number / 10, ones: number % 10) }
    var number: Int { tens * 10 + ones }
}

/// Generic types have no stored statics: their schemas are kept here.
private let overlapSchemas = Locked<[ObjectIdentifier: any Sendable]>([:])
private func overlapSchema<D>(_ make: () -> Schema<D>) -> Schema<D> {
    if let known = overlapSchemas.withLock({ $0[ObjectIdentifier(D.self)] }) as? Schema<D> { return known }
    let schema = make()
    overlapSchemas.withLock { $0[ObjectIdentifier(D.self)] = schema }
    return schema
}

/// An owner with a link of each kind.
final class Stage<K: OverlapKey> {
    let id: K
    var name = "" { didSet { onName?(name) } }
    var note = ""
    /// By an ordered list.
    var props: [Prop<K>] = []
    /// By a set.
    var spares: Set<Prop<K>> = []
    /// By a foreign key of its own.
    var lead: Prop<K>?
    /// By the dancers' foreign key.
    var dancers: [Dancer<K>] = []
    /// By the sign's foreign key.
    var sign: Sign<K>?
    /// Not mapped: what a test does when the name is set.
    var onName: ((String) -> Void)?
    init(id: K) { self.id = id }
}
final class Prop<K: OverlapKey>: Hashable {
    let id: K
    var name = ""
    init(id: K) { self.id = id }
    static func == (left: Prop, right: Prop) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
final class Dancer<K: OverlapKey> {
    let id: K
    var name = ""
    weak var stage: Stage<K>?
    init(id: K) { self.id = id }
}
final class Sign<K: OverlapKey> {
    let id: K
    var text = ""
    weak var stage: Stage<K>?
    init(id: K) { self.id = id }
}

struct StageRow<K: OverlapKey>: StoredRecord {
    typealias Model = Stage<K>
    let id: K
    var name = ""
    var note = ""
    var props: [Ref<PropRow<K>>] = []
    var spares: Set<Ref<PropRow<K>>> = []
    var lead: Ref<PropRow<K>>?
    static var schema: Schema<Self> {
        overlapSchema {
            Schema("stage") { row in
                try Self(
                    id: row("id", \.id), name: row("name", \.name), note: row("note", \.note),
                    props: row("props", \.props),
                    spares: row("spares", \.spares), lead: row("lead", \.lead))
            }
        }
    }
    static var mapping: Mapping<Self> { mapping(nil) }
    static func mapping(_ rule: DeleteRule?) -> Mapping<Self> {
        Mapping {
            Stage(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.note, \.note)
            Many(\.props, \.props).onDelete(rule ?? .nullify)
            Many(\.spares, \.spares).onDelete(rule ?? .nullify)
            One(\.lead, \.lead).onDelete(rule ?? .nullify)
            Many(DancerRow<K>.self, by: \.stage, \.dancers).onDelete(rule ?? .nullify)
            One(SignRow<K>.self, by: \.stage, \.sign).onDelete(rule ?? .nullify)
        }
    }
}
struct PropRow<K: OverlapKey>: StoredRecord {
    typealias Model = Prop<K>
    let id: K
    var name = ""
    static var schema: Schema<Self> {
        overlapSchema { Schema("prop") { row in try Self(id: row("id", \.id), name: row("name", \.name)) } }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Prop(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
        }
    }
}
struct DancerRow<K: OverlapKey>: StoredRecord {
    typealias Model = Dancer<K>
    let id: K
    var name = ""
    var stage: Ref<StageRow<K>>?
    static var schema: Schema<Self> {
        overlapSchema {
            Schema("dancer") { row in
                try Self(id: row("id", \.id), name: row("name", \.name), stage: row("stage", \.stage))
            }
        }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Dancer(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Back(\.stage, \.stage)
        }
    }
}
struct SignRow<K: OverlapKey>: StoredRecord {
    typealias Model = Sign<K>
    let id: K
    var text = ""
    var stage: Ref<StageRow<K>>?
    static var schema: Schema<Self> {
        overlapSchema {
            Schema("sign") { row in
                try Self(id: row("id", \.id), text: row("text", \.text), stage: row("stage", \.stage))
            }
        }
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Sign(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.text)
            Back(\.stage, \.stage)
        }
    }
}

/// What is stored, in a form that compares and prints.
struct StoredStages: Equatable, CustomStringConvertible {
    var lines: [String] = []
    var description: String { lines.joined(separator: "; ") }

    init<K: OverlapKey>(_ store: GraphStore, _: K.Type) async throws {
        for row in try await store.fetch(Query(StageRow<K>.self)).sorted(by: { $0.id.number < $1.id.number }) {
            lines.append(
                "stage \(row.id.number) \(row.name)/\(row.note) props \(row.props.map(\.id.number)) spares "
                    + "\(row.spares.map(\.id.number).sorted()) lead \(row.lead?.id.number ?? -1)")
        }
        for row in try await store.fetch(Query(PropRow<K>.self)).sorted(by: { $0.id.number < $1.id.number })
        where !row.name.isEmpty { lines.append("prop \(row.id.number) \(row.name)") }
        for row in try await store.fetch(Query(DancerRow<K>.self)).sorted(by: { $0.id.number < $1.id.number }) {
            lines.append("dancer \(row.id.number) \(row.name) on \(row.stage?.id.number ?? -1)")
        }
        for row in try await store.fetch(Query(SignRow<K>.self)).sorted(by: { $0.id.number < $1.id.number }) {
            lines.append("sign \(row.id.number) \(row.text) on \(row.stage?.id.number ?? -1)")
        }
    }
}

/// A store with three stages, and what sessions over it have loaded.
///
/// Stage 1 has the props 0 and 1 in its list, 0 among its spares, 0 as lead, the dancers 0 and 1 and the sign 0. Stage 2 has
/// the props 0 to 3 in its list, stage 3 has nothing. There are props 0 to 5, dancers 0 to 5 and signs 0 to 2.
final class Theatre<K: OverlapKey> {
    let store: GraphStore

    init() async throws {
        store = try await GraphStore.open(
            .inMemory, StageRow<K>.self, PropRow<K>.self, DancerRow<K>.self, SignRow<K>.self)
        try await store.write { tx in
            for number in 0...5 { try await tx.insert(PropRow(id: K(number: number))) }
            try await tx.insert(
                StageRow(
                    id: K(number: 1), name: "base", note: "base", props: [0, 1].map { Ref(K(number: $0)) },
                    spares: [Ref(K(number: 0))], lead: Ref(K(number: 0))))
            try await tx.insert(
                StageRow(
                    id: K(number: 2), name: "base", note: "base", props: (0...3).map { Ref(K(number: $0)) }))
            try await tx.insert(StageRow(id: K(number: 3), name: "base", note: "base"))
            for number in 0...5 {
                try await tx.insert(DancerRow(id: K(number: number), stage: number < 2 ? Ref(K(number: 1)) : nil))
            }
            for number in 0...2 {
                try await tx.insert(SignRow(id: K(number: number), stage: number < 1 ? Ref(K(number: 1)) : nil))
            }
        }
    }

    func session(
        _ retention: Retention = .strong, over backing: (any GraphBacking)? = nil, rule: DeleteRule? = nil
    ) -> GraphSession {
        GraphSession(
            backing ?? store.backing,
            [StageRow<K>.mapping(rule), PropRow<K>.mapping, DancerRow<K>.mapping, SignRow<K>.mapping],
            retention: retention)
    }

    func side(
        _ retention: Retention = .strong, over backing: (any GraphBacking)? = nil, rule: DeleteRule? = nil
    ) async throws -> TheatreSide<K> {
        try await TheatreSide(session(retention, over: backing, rule: rule))
    }

    var stored: StoredStages { get async throws { try await StoredStages(store, K.self) } }

    func row(_ number: Int) async throws -> StageRow<K> {
        try #require(try await store.find(StageRow<K>.self, K(number: number)))
    }
    /// The props in the stored list of a stage.
    func props(_ number: Int = 1) async throws -> [Int] { try await row(number).props.map(\.id.number) }
    /// The dancers whose stored foreign key leads to a stage.
    func dancers(_ number: Int = 1) async throws -> [Int] {
        try await store.fetch(Query(DancerRow<K>.self)).filter { $0.stage?.id.number == number }.map(\.id.number)
            .sorted()
    }
    /// The signs whose stored foreign key leads to a stage.
    func signs(_ number: Int = 1) async throws -> [Int] {
        try await store.fetch(Query(SignRow<K>.self)).filter { $0.stage?.id.number == number }.map(\.id.number)
            .sorted()
    }
}

/// A session, and all the models of the store that it has loaded.
final class TheatreSide<K: OverlapKey> {
    let session: GraphSession
    var stages: [Stage<K>]
    var props: [Prop<K>]
    var dancers: [Dancer<K>]
    var signs: [Sign<K>]
    /// Stage 1.
    var stage: Stage<K> { stages[0] }

    init(_ session: GraphSession) async throws {
        self.session = session
        stages = try await session.models(Query(StageRow<K>.self)).sorted { $0.id.number < $1.id.number }
        props = try await session.models(Query(PropRow<K>.self)).sorted { $0.id.number < $1.id.number }
        dancers = try await session.models(Query(DancerRow<K>.self)).sorted { $0.id.number < $1.id.number }
        signs = try await session.models(Query(SignRow<K>.self)).sorted { $0.id.number < $1.id.number }
    }

    /// Gives a dancer to a stage, by both sides of the link.
    func move(dancer number: Int, to stage: Stage<K>?) {
        let dancer = dancers[number]
        for other in stages { other.dancers.removeAll { $0 === dancer } }
        dancer.stage = stage
        stage?.dancers.append(dancer)
    }

    /// Gives a sign to a stage, by both sides of the link.
    func move(sign number: Int, to stage: Stage<K>?) {
        let sign = signs[number]
        for other in stages where other.sign === sign { other.sign = nil }
        stage?.sign?.stage = nil
        sign.stage = stage
        stage?.sign = sign
    }
}

/// The links that lead from a stage to others.
enum StageLink: CaseIterable, Sendable {
    case props, spares, lead, dancers, sign

    /// Those that hold several.
    static let many: [Self] = [.props, .spares, .dancers]
    /// Those to which something is added without taking the place of something.
    static let byOthersKey: [Self] = [.dancers, .sign]

    func path<K: OverlapKey>(_: K.Type) -> PartialKeyPath<Stage<K>> {
        switch self {
        case .props: \Stage<K>.props
        case .spares: \Stage<K>.spares
        case .lead: \Stage<K>.lead
        case .dancers: \Stage<K>.dancers
        case .sign: \Stage<K>.sign
        }
    }

    /// The numbers of what the model has in the link.
    func numbers<K: OverlapKey>(_ stage: Stage<K>) -> [Int] {
        switch self {
        case .props: stage.props.map(\.id.number)
        case .spares: stage.spares.map(\.id.number).sorted()
        case .lead: stage.lead.map { [$0.id.number] } ?? []
        case .dancers: stage.dancers.map(\.id.number)
        case .sign: stage.sign.map { [$0.id.number] } ?? []
        }
    }

    /// The numbers of what is stored in the link.
    func stored<K: OverlapKey>(_ theatre: Theatre<K>, _ number: Int = 1) async throws -> [Int] {
        switch self {
        case .props: try await theatre.props(number)
        case .spares: try await theatre.row(number).spares.map(\.id.number).sorted()
        case .lead: try await theatre.row(number).lead.map { [$0.id.number] } ?? []
        case .dancers: try await theatre.dancers(number)
        case .sign: try await theatre.signs(number)
        }
    }

    /// Whether what the link may lead to is stored.
    func isTargetStored<K: OverlapKey>(_ theatre: Theatre<K>, _ number: Int) async throws -> Bool {
        let key = K(number: number)
        return switch self {
        case .props, .spares, .lead: try await theatre.store.find(PropRow<K>.self, key) != nil
        case .dancers: try await theatre.store.find(DancerRow<K>.self, key) != nil
        case .sign: try await theatre.store.find(SignRow<K>.self, key) != nil
        }
    }

    /// Puts a new object with this number into the link, beside what is there; into a link to one, in its place.
    func put<K: OverlapKey>(_ number: Int, into stage: Stage<K>) {
        let key = K(number: number)
        switch self {
        case .props: stage.props.append(Prop(id: key))
        case .spares: stage.spares.insert(Prop(id: key))
        case .lead: stage.lead = Prop(id: key)
        case .dancers:
            let dancer = Dancer(id: key)
            dancer.stage = stage
            stage.dancers.append(dancer)
        case .sign:
            let sign = Sign(id: key)
            sign.stage = stage
            stage.sign?.stage = nil
            stage.sign = sign
        }
    }
}

/// Something that one task waits for and another one lets happen.
final class Gate: Sendable {
    private let opened: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (opened, continuation) = AsyncStream<Void>.makeStream() }

    func open() { continuation.finish() }
    func wait() async { for await _ in opened {} }
}

/// A store that keeps a session waiting: for a snapshot, for the writer, or for the commit.
final class WaitingStore: GraphBacking {
    /// Where a session waits.
    enum Point: CaseIterable, Sendable { case snapshot, writer, commit }

    private let store: GraphStore
    /// Where the next call waits.
    private var point: Point?
    private var arrived = Gate()
    private var released = Gate()
    /// What the next transaction ends with.
    private var failure: (any Error)?

    init(_ store: GraphStore) { self.store = store }

    /// Runs `work` up to where it waits, then `edits`, and then the rest of `work`.
    @MainActor @discardableResult func whileWaiting<T: Sendable>(
        _ point: Point, failingWith failure: (any Error)? = nil, _ work: @escaping @MainActor () async throws -> T,
        edits: @MainActor () async throws -> Void
    ) async throws -> T {
        (self.point, self.failure) = (point, failure)
        (arrived, released) = (Gate(), Gate())
        let (arrived, released) = (arrived, released)
        let working = Task { @MainActor in
            // Work that ends before it has come to the point fails the test instead of keeping it waiting.
            defer { arrived.open() }
            return try await work()
        }
        await arrived.wait()
        #expect(self.point == nil, "the session has not waited")
        do { try await edits() } catch {
            released.open()
            _ = try? await working.value
            throw error
        }
        released.open()
        return try await working.value
    }

    /// Lets nothing wait, and nothing fail, that has not come so far.
    func reset() { (point, failure) = (nil, nil) }

    private func wait(_ here: Point) async {
        guard point == here else { return }
        point = nil
        let released = released
        arrived.open()
        await released.wait()
    }

    func snapshot(_ body: (any GraphSource) async throws -> Void) async throws {
        await wait(.snapshot)
        try await store.read { tx in try await body(tx) }
    }

    func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {
        await wait(.writer)
        let failure = failure
        self.failure = nil
        try await store.write { tx in
            try await body(tx)
            await wait(.commit)
            if let failure { throw failure }
        }
    }

    func stores(_ type: any DTO.Type) -> Bool { store.backing.stores(type) }
    func uniqueColumns(of table: String) -> [[String]] { store.backing.uniqueColumns(of: table) }
}

/// What an undone piece of work ends with.
struct Undone: Error {}

/// A model with a value that is not read with its row, and with a column that the model does not have.
final class Poster {
    let id: Int
    var title = ""
    var text: String?
    init(id: Int) { self.id = id }
}
struct PosterRow: StoredRecord {
    typealias Model = Poster
    let id: Int
    var title = ""
    var text: Lazy<String?> = Lazy(nil)
    var secret = 7
    static let schema = Schema<Self>("poster") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), text: row("text", \.text),
            secret: row("secret", \.secret))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Poster(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.title, \.title)
            Field(\.text, \.text)
            Unmapped(\.secret, initial: 7)
        }
    }
}
