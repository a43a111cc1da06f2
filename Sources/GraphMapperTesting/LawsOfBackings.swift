import GraphMapper

/// The rows of some tables, of whatever types: what a backing holds to start with.
///
/// ```swift
/// StoredGraph(users).adding(carts).adding(items)
/// ```
public struct StoredGraph {
    var tables: [any StoredRows] = []

    /// The rows of one table.
    public init<D: Mappable>(_ rows: [D]) where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        tables = [Rows(rows: rows)]
    }

    /// These and the rows of another table. Ids are distinct within a table, and links lead to rows that are there.
    public func adding<D: Mappable>(_ rows: [D]) -> StoredGraph
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        var copy = self
        copy.tables.append(Rows(rows: rows))
        return copy
    }

    /// Writes all rows, in one transaction.
    public func write(to backing: any GraphBacking) async throws {
        let changes = tables.map { $0.insertions() }
        try await backing.transaction { sink in
            for change in changes.flatMap(\.rows) { try await sink.apply(change) }
            for change in changes.flatMap(\.links) { try await sink.apply(change) }
        }
    }
}

extension StoredGraph: CustomDebugStringConvertible {
    /// The rows, one a line.
    public var debugDescription: String {
        tables.flatMap { $0.lines() }.map { "\n  \($0)" }.joined()
    }
}

/// Checks the laws for sessions over a database.
///
/// ```swift
/// try await checkLaws(of: [UserRecord.mapping, CartRecord.mapping], rows: shops) {
///     try await GraphStore.open(.inMemory, UserRecord.self, CartRecord.self).backing
/// }
/// ```
///
/// - Parameters:
///   - mappings: what to make sessions of.
///   - rows: what the database holds.
///   - laws: which laws to check; ``Law/certificate`` has no meaning here.
///   - count: how many values to try.
///   - backing: makes an empty database.
/// - Throws: ``PropertyFailure`` with the smallest counterexample found and a line to replay it.
public func checkLaws(
    of mappings: @autoclosure () -> [any AnyMapping], rows: Gen<StoredGraph>, laws: Set<Law> = Set(Law.allCases),
    name: String = #function, count: Int = 50, seed: UInt64? = nil, replay: String? = nil,
    over backing: () async throws -> any GraphBacking
) async throws {
    let mappings = mappings()
    try GraphSession(nil, mappings).validate()
    try await check(rows, name: name, count: count, seed: seed, replay: replay) { graph in
        let laws = BackingLaws(mappings: mappings, laws: laws, graph: graph, backing: try await backing())
        try await graph.write(to: laws.backing)
        try await laws.run(fresh: backing)
    }
}

protocol StoredRows {
    func insertions() -> (rows: [ChangeSet.Change], links: [ChangeSet.Change])
    func lines() -> [String]
    var keyed: [(key: String, record: Any)] { get }
    /// Loads all of them, in this order or backwards.
    func load(into session: GraphSession, backwards: Bool) async throws -> [AnyObject]
    /// Throws unless `find` answers the instances of the load.
    func ensureFound(_ models: [AnyObject], in session: GraphSession) async throws
}

private struct Rows<D: Mappable>: StoredRows where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    let rows: [D]

    func insertions() -> (rows: [ChangeSet.Change], links: [ChangeSet.Change]) {
        let changes = rows.map { D.schema.insertion(of: $0) }
        return (changes.map(\.row), changes.flatMap(\.links))
    }

    func lines() -> [String] { rows.map { "\($0)" } }

    var keyed: [(key: String, record: Any)] { rows.map { ("\(D.schema.name)(\($0.id))", $0) } }

    func load(into session: GraphSession, backwards: Bool) async throws -> [AnyObject] {
        let ids = rows.map(\.id)
        return try await session.load(D.self) { source in
            // Sources answer in any order.
            let found = Dictionary(
                try await source.fetch(D.self, ids: ids).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            return (backwards ? ids.reversed() : ids).compactMap { found[$0] }
        }
    }

    func ensureFound(_ models: [AnyObject], in session: GraphSession) async throws {
        try ensure(models.count == rows.count, "\(D.schema.name): \(rows.count) rows, \(models.count) models")
        let instances = Set(models.map(ObjectIdentifier.init))
        try ensure(instances.count == rows.count, "\(D.schema.name): \(rows.count) ids, \(instances.count) instances")
        for (row, model) in zip(rows, models) {
            let found = try await session.find(D.self, row.id)
            try ensure(found === model, "one instance an id: \(D.schema.name)(\(row.id)) is found as another")
        }
    }
}

/// The laws of sessions over a backing.
struct BackingLaws {
    let mappings: [any AnyMapping]
    let laws: Set<Law>
    let graph: StoredGraph
    let backing: any GraphBacking

    func run(fresh: () async throws -> any GraphBacking) async throws {
        try await laws.keep(.leaks) { try await leaks() }
        let session = GraphSession(backing, mappings)
        let models = try await load(session, backwards: false)
        let loaded = try ModelGraph(models, mappings)
        let records = try loaded.records(in: session)
        try laws.keep(.roundTrip) {
            let stored = Dictionary(graph.tables.flatMap(\.keyed).map { ($0.key, $0.record) }) { first, _ in first }
            try ensureSame(stored, records, "DTO → model → DTO")
        }
        try await laws.keep(.identity) {
            var start = 0
            for table in graph.tables {
                let count = table.keyed.count
                try ensure(start + count <= models.count, "there are fewer models than rows")
                try await table.ensureFound(Array(models[start..<start + count]), in: session)
                start += count
            }
        }
        try await laws.keep(.quiet) { try await ensureQuiet(session, "load, then save") }
        try await laws.keep(.order) {
            let other = GraphSession(backing, mappings)
            let turned = try ModelGraph(try await load(other, backwards: true), mappings)
            try loaded.ensureSame(as: turned, "order of the roots")
            try ensureSame(records, turned.records(in: other), "order of the roots")
        }
        try await laws.keep(.shape) { try await saveElsewhere(loaded, try await fresh()) }
    }

    private func load(_ session: GraphSession, backwards: Bool) async throws -> [AnyObject] {
        var models: [AnyObject] = []
        for table in backwards ? graph.tables.reversed() : graph.tables {
            models += try await table.load(into: session, backwards: backwards)
        }
        return models
    }

    private func ensureQuiet(_ session: GraphSession, _ law: String) async throws {
        let changes = try session.changes()
        try ensure(changes.isEmpty, "\(law): \(changes)")
        let saved = try await session.save()
        try ensure(saved.isEmpty, "\(law): \(saved)")
    }

    /// Saves the models into an empty backing; what a fresh session loads from it has to be the same.
    private func saveElsewhere(_ loaded: ModelGraph, _ empty: any GraphBacking) async throws {
        let writer = GraphSession(empty, mappings)
        for model in loaded.models { try writer.add(model) }
        try await writer.save()
        try await laws.keep(.quiet) { try await ensureQuiet(writer, "save, then save") }
        let reader = GraphSession(empty, mappings)
        let again = try ModelGraph(try await load(reader, backwards: false), mappings)
        try loaded.ensureSame(as: again, "save, then load")
        try ensureSame(loaded.records(in: writer), again.records(in: reader), "save, then load")
    }

    private func leaks() async throws {
        try await expectReleasedAfterwards {
            let session = GraphSession(backing, mappings)
            let models = try await load(session, backwards: false)
            return try withExtendedLifetime(session) { try ModelGraph(models, mappings).models }
        }
    }
}
