import CSQLite
import Foundation
import GraphMapperStore

/// The same file by hand: the C API, prepared statements, dictionaries.
final class Database {
    let handle: OpaquePointer

    init(_ path: String) throws {
        var opened: OpaquePointer?
        guard
            sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil) == 0,
            let opened
        else { throw BenchmarkError("cannot open \(path)") }
        handle = opened
        for sql in [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "PRAGMA foreign_keys = ON",
            "PRAGMA cache_size = -65536",
        ] {
            sqlite3_exec(handle, sql, nil, nil, nil)
        }
    }

    deinit { sqlite3_close_v2(handle) }

    func prepare(_ sql: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == 0, let statement else {
            throw BenchmarkError(String(cString: sqlite3_errmsg(handle)))
        }
        return statement
    }

    /// Runs a prepared statement that has no rows.
    func run(_ statement: OpaquePointer) throws {
        defer { sqlite3_reset(statement) }
        guard sqlite3_step(statement) == SQLITE_DONE else {
            throw BenchmarkError(String(cString: sqlite3_errmsg(handle)))
        }
    }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == 0 else {
            throw BenchmarkError(String(cString: sqlite3_errmsg(handle)))
        }
    }
}

func id(_ statement: OpaquePointer, _ column: Int32) throws -> UUID {
    guard let bytes = sqlite3_column_blob(statement, column), sqlite3_column_bytes(statement, column) == 16 else {
        throw BenchmarkError("not an id")
    }
    return bytes.loadUnaligned(as: UUID.self)
}

func text(_ statement: OpaquePointer, _ column: Int32) -> String {
    let start = sqlite3_column_text(statement, column)
    return String(
        decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))), as: UTF8.self)
}

func fetchItemsByHand(_ database: Database) throws -> [ItemRecord] {
    var items: [ItemRecord] = []
    let statement = try database.prepare("SELECT id, name, price FROM item")
    while sqlite3_step(statement) == SQLITE_ROW {
        items.append(try readItem(statement))
    }
    sqlite3_finalize(statement)
    return items
}

/// An item from a row of its columns.
@inline(__always) func readItem(_ statement: OpaquePointer) throws -> ItemRecord {
    ItemRecord(id: try id(statement, 0), name: text(statement, 1), price: Int(sqlite3_column_int64(statement, 2)))
}

func loadGraphByHand(_ database: Database, _ count: Int) throws -> [BUser] {
    var users: [UUID: BUser] = [:]
    var items: [UUID: BItem] = [:]
    var carts: [UUID: BCart] = [:]
    users.reserveCapacity(count)
    carts.reserveCapacity(count)
    items.reserveCapacity(count)
    var result: [BUser] = []
    try database.execute("BEGIN")
    var statement = try database.prepare("SELECT id, name FROM user")
    while sqlite3_step(statement) == SQLITE_ROW {
        let user = BUser(id: try id(statement, 0), name: text(statement, 1))
        users[user.id] = user
        result.append(user)
    }
    sqlite3_finalize(statement)
    statement = try database.prepare("SELECT id, name, price FROM item")
    while sqlite3_step(statement) == SQLITE_ROW {
        let item = BItem(
            id: try id(statement, 0), name: text(statement, 1), price: Int(sqlite3_column_int64(statement, 2)))
        items[item.id] = item
    }
    sqlite3_finalize(statement)
    statement = try database.prepare("SELECT id, user_id FROM cart")
    while sqlite3_step(statement) == SQLITE_ROW {
        let cart = BCart(id: try id(statement, 0))
        cart.owner = users[try id(statement, 1)]
        cart.owner?.cart = cart
        carts[cart.id] = cart
    }
    sqlite3_finalize(statement)
    statement = try database.prepare("SELECT owner, target FROM cart_items ORDER BY owner, position")
    var cart: BCart?
    while sqlite3_step(statement) == SQLITE_ROW {
        let owner = try id(statement, 0)
        if cart?.id != owner { cart = carts[owner] }
        if let item = items[try id(statement, 1)] { cart?.items.append(item) }
    }
    sqlite3_finalize(statement)
    try database.execute("COMMIT")
    return result
}

func bind(_ statement: OpaquePointer, _ index: Int32, _ id: UUID) {
    withUnsafeBytes(of: id.uuid) {
        _ = sqlite3_bind_blob(statement, index, $0.baseAddress, 16, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }
}

func bind(_ statement: OpaquePointer, _ index: Int32, _ text: String) {
    sqlite3_bind_text(statement, index, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
}

func saveByHand(_ database: Database, _ users: [BUser], _ items: [BItem]) throws {
    try database.execute("BEGIN IMMEDIATE")
    let user = try database.prepare("INSERT INTO user (id, name) VALUES (?, ?)")
    let item = try database.prepare("INSERT INTO item (id, name, price) VALUES (?, ?, ?)")
    let cart = try database.prepare("INSERT INTO cart (id, user_id) VALUES (?, ?)")
    let line = try database.prepare("INSERT INTO cart_items (owner, position, target) VALUES (?, ?, ?)")
    defer { for statement in [user, item, cart, line] { sqlite3_finalize(statement) } }
    for model in items {
        bind(item, 1, model.id)
        bind(item, 2, model.name)
        sqlite3_bind_int64(item, 3, Int64(model.price))
        try database.run(item)
    }
    for model in users {
        bind(user, 1, model.id)
        bind(user, 2, model.name)
        try database.run(user)
    }
    for model in users {
        guard let owned = model.cart else { continue }
        bind(cart, 1, owned.id)
        bind(cart, 2, model.id)
        try database.run(cart)
    }
    for model in users {
        for (index, target) in (model.cart?.items ?? []).enumerated() {
            bind(line, 1, model.cart?.id ?? model.id)
            sqlite3_bind_int64(line, 2, Int64(index + 1) << 20)
            bind(line, 3, target.id)
            try database.run(line)
        }
    }
    try database.execute("COMMIT")
}

func openStore(_ path: String) async throws -> GraphStore {
    try await GraphStore.open(.file(path), UserRecord.self, CartRecord.self, ItemRecord.self)
}

func shopSession(_ store: GraphStore) -> GraphSession {
    GraphSession(store, UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping)
}

func benchmarkStore(_ harness: Harness, _ workload: Workload) async throws {
    guard harness.wants("store.fetch", "store.graph", "store.graph.numbers", "store.graph.integers", "store.save")
    else { return }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("shop.sqlite").path
    let store = try await openStore(path)
    try await store.write { tx in
        try await tx.insert(contentsOf: workload.items)
        try await tx.insert(contentsOf: workload.users)
        try await tx.insert(contentsOf: workload.carts)
    }
    let database = try Database(path)

    // One fetch takes a few milliseconds: several make one measurement.
    let fetches = 20
    try await harness.compare("store.fetch", n: workload.items.count * fetches, target: 1.1) {
        var sum = 0
        for _ in 0..<fetches {
            sum = try await store.fetch(Query(ItemRecord.self)).reduce(sum) { $0 &+ $1.price }
        }
        return sum
    } baseline: {
        var sum = 0
        for _ in 0..<fetches { sum = try fetchItemsByHand(database).reduce(sum) { $0 &+ $1.price } }
        return sum
    }

    let references = workload.carts.count + workload.carts.reduce(0) { $0 + $1.items.count }
    try await harness.compare("store.graph", n: references, target: 1.15) {
        checksum(try await shopSession(store).models(Query(UserRecord.self)))
    } baseline: {
        checksum(try loadGraphByHand(database, workload.users.count))
    }

    try await benchmarkBestLayout(harness, workload, store, folder)

    var run = 0
    func fresh() -> String {
        run += 1
        return folder.appendingPathComponent("save\(run).sqlite").path
    }
    let rows = workload.items.count + workload.users.count + references
    try await harness.compare("store.save", n: rows, target: 1.2) {
        let models = try mapByHand(workload.nested)
        for model in models { model.cart?.owner = model }
        let store = try await openStore(fresh())
        let session = shopSession(store)
        for model in models { try session.add(model) }
        try await session.save()
        return models.count
    } baseline: {
        let models = try mapByHand(workload.nested)
        let path = fresh()
        _ = try await openStore(path)
        var seen: Set<ObjectIdentifier> = []
        let items = models.flatMap { $0.cart?.items ?? [] }.filter { seen.insert(ObjectIdentifier($0)).inserted }
        try saveByHand(try Database(path), models, items)
        return models.count
    }
}
