/// A database of live objects, as far as a session needs it: wiring one takes these few functions.
///
/// They are called where the session is used, so that objects stay on their thread or actor.
public protocol ObjectDatabase {
    /// The object with this id, or nil.
    func object<D: DTO & Identifiable>(_ type: D.Type, id: D.ID) throws -> D? where D.ID: Storable & Hashable
    /// The objects whose property `name`, a link or a foreign key, leads to one of these ids. Only links that the other
    /// side holds ask for it.
    func objects<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) throws -> [D]
    /// Runs `body` in one write transaction, which is undone if it throws.
    func write(_ body: () throws -> Void) throws
    /// Adds an object that was made by its schema's blank initializer, and has its id and values, but no links yet. Called
    /// inside a write transaction; an object with this id is not there.
    func insert(_ object: AnyObject) throws
    /// Deletes an object of the database's. Called inside a write transaction.
    func delete(_ object: AnyObject) throws
}

extension ObjectDatabase {
    /// An error, for databases none of whose links are held by the other side.
    public func objects<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) throws -> [D] {
        throw GraphError(
            .misuse, "the database must implement objects(_:where:isIn:) for links that the other side holds",
            type: "\(type)", property: name)
    }

    func required<D: ObjectDTO>(_ type: D.Type, _ id: D.ID) throws -> D where D.ID: Storable & Hashable {
        if let object = try object(type, id: id) { return object }
        throw GraphError(.dangling, "the database has no such object to link to", type: "\(type)", id: "\(id)")
    }
}

/// What lets a session load from and save to an ``ObjectDatabase``.
///
/// A save finds each object by its id and sets the properties that changed, in one write transaction. A property that
/// has another value than the session last read is a conflict, and nothing is written.
public struct ObjectBacking<Database: ObjectDatabase>: GraphBacking {
    /// The database.
    public let database: Database
    private let types: [ObjectIdentifier]
    private let tables: [String: any ObjectTable]

    /// - Parameter types: the classes that the database keeps.
    public init(_ database: Database, _ types: any DTO.Type...) {
        self.database = database
        self.types = types.map { ObjectIdentifier($0) }
        tables = Dictionary(types.compactMap { type in objectTable(of: type).map { ($0.name, $0) } }) { first, _ in
            first
        }
    }

    /// Whether it is one of the classes that the database keeps.
    public func stores(_ type: any DTO.Type) -> Bool { types.contains(ObjectIdentifier(type)) }

    /// Runs `body` with the database's objects. Nothing suspends while it runs, as long as `body` does not.
    public func snapshot(_ body: (any GraphSource) async throws -> Void) async throws {
        try await body(ObjectWork(database: database))
    }

    /// Collects the changes of `body`, then applies them in one write transaction of the database's.
    public func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {
        let work = ObjectWork(database: database)
        try await body(work)
        try database.write { try apply(work.changes) }
    }

    /// Objects come before the links to them, and go after the links from them.
    private func apply(_ changes: [ChangeSet.Change]) throws {
        var links: [() throws -> Void] = []
        var deletions: [() throws -> Void] = []
        for change in changes {
            switch change {
            case .insert(let row):
                let table = try table(row.table)
                try table.insert(row, database)
                links.append { try table.setLinks(row, database) }
            case .update(let row):
                let table = try table(row.table)
                links.append { try table.update(row, database) }
            case .relink(let link):
                let table = try table(link.table)
                links.append { try table.relink(link, database) }
            case .delete(let row):
                let table = try table(row.table)
                deletions.append { try table.delete(row, database) }
            }
        }
        for step in links + deletions { try step() }
    }

    private func table(_ name: String) throws -> any ObjectTable {
        if let table = tables[name] { return table }
        throw GraphError(.invalidSchema, "the backing has no such class; name it when making the backing", type: name)
    }
}

/// The source and the sink of one load or save.
private final class ObjectWork<Database: ObjectDatabase>: GraphSource, ChangeSink {
    let database: Database
    private(set) var changes: [ChangeSet.Change] = []

    init(database: Database) { self.database = database }

    func fetch<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) async throws -> [D] where D.ID: Storable & Hashable {
        try ids.compactMap { try database.object(type, id: $0) }
    }

    func fetch<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) async throws -> [D] where D.ID: Storable & Hashable {
        try database.objects(type, where: name, isIn: owners)
    }

    func apply(_ change: ChangeSet.Change) async throws { changes.append(change) }
}
