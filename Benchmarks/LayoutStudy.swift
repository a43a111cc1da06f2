import CSQLite
import Foundation

/// The ways in which a shop's rows can lie in a file, timed against each other by hand-written code: what the store's
/// layout is chosen by.
///
/// - Parameters:
///   - scales: the sizes of the files, 1 being some 10 MB.
///   - only: the names of the layouts that are wanted; nil for all.
func studyLayouts(_ scales: [Int], only: [String]?) throws {
    for scale in scales {
        print("\(25_000 * scale) objects, \(110_000 * scale) references; microseconds each, and the file in MB")
        print("layout".padding(toLength: 22, withPad: " ", startingAt: 0) + LayoutStudy.columns)
        for layout in StudiedLayout.all where only?.contains(layout.name) ?? true {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let study = try LayoutStudy(layout, scale, folder.appendingPathComponent("shop.sqlite").path)
            print(layout.name.padding(toLength: 22, withPad: " ", startingAt: 0) + (try study.run()))
        }
    }
}

/// How keys, links and lists lie.
struct StudiedLayout {
    let name: String
    /// Whether rows refer to each other by whole numbers, each row's UUID being kept once.
    var hasIntegers = false
    /// Whether rows lie in the order of their UUIDs.
    var isClustered = false
    /// Whether an ordered link is one value in its owner's row, with a table of the reverse direction beside it.
    var isPacked = false

    static let integers = StudiedLayout(name: "integers", hasIntegers: true)
    static let all = [
        StudiedLayout(name: "UUIDs"),
        StudiedLayout(name: "UUIDs, clustered", isClustered: true),
        integers,
        StudiedLayout(name: "UUIDs, packed", isPacked: true),
        StudiedLayout(name: "integers, packed", hasIntegers: true, isPacked: true),
    ]

    var definitions: [String] {
        let key = hasIntegers ? "row INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE" : "id BLOB NOT NULL PRIMARY KEY"
        let type = hasIntegers ? "INTEGER" : "BLOB"
        let end = isClustered ? ") WITHOUT ROWID" : ")"
        func link(_ name: String, _ table: String) -> String {
            "\(name) \(type) NOT NULL REFERENCES \(table)(\(self.key)) DEFERRABLE INITIALLY DEFERRED"
        }
        let position = isPacked ? "" : "position INTEGER NOT NULL, "
        return [
            "CREATE TABLE user (\(key), name TEXT NOT NULL\(end)",
            "CREATE TABLE item (\(key), name TEXT NOT NULL, price INTEGER NOT NULL\(end)",
            "CREATE TABLE cart (\(key), \(link("user", "user"))\(isPacked ? ", items BLOB NOT NULL" : "")\(end)",
            "CREATE TABLE line (\(link("owner", "cart")), \(position)\(link("target", "item")), "
                + "PRIMARY KEY (\(isPacked ? "target, owner" : "owner, position"))) WITHOUT ROWID",
        ]
    }

    var indexes: [String] {
        [
            "CREATE UNIQUE INDEX cart_user ON cart (user)",
            isPacked ? "CREATE INDEX line_owner ON line (owner)" : "CREATE INDEX line_target ON line (target)",
        ]
    }

    /// The column that links refer to.
    var key: String { hasIntegers ? "row" : "id" }
}

/// One file of one layout.
final class LayoutStudy {
    static let columns = ["insert", "graph", "1000 graphs", "find", "update", "add", "append", "owners", "MB"]
        .map { String(repeating: " ", count: 12 - $0.count) + $0 }.joined()

    let layout: StudiedLayout
    let scale: Int
    let database: Database
    let path: String
    var users: Int { 10_000 * scale }
    var items: Int { 5_000 * scale }

    init(_ layout: StudiedLayout, _ scale: Int, _ path: String) throws {
        (self.layout, self.scale, self.path) = (layout, scale, path)
        database = try Database(path)
        for sql in layout.definitions { try database.execute(sql) }
    }

    func run() throws -> String {
        let rows = users * 12 + items
        var times: [Double] = []
        func measure(_ count: Int, _ body: () throws -> Void) rethrows {
            let start = ContinuousClock.now
            try body()
            let elapsed = (ContinuousClock.now - start).components
            times.append((Double(elapsed.seconds) * 1e6 + Double(elapsed.attoseconds) / 1e12) / Double(count))
        }
        try measure(rows) { try fill() }
        try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let size = try number("PRAGMA page_count") * number("PRAGMA page_size")
        // More than a few million objects at once are not what a graph is loaded for.
        if scale <= 20 { try measure(users * 11) { try expect(loadAll(), users * 10) } } else { times.append(.nan) }
        let some = (0..<1000).map { Int(hash(1, $0) % UInt64(users)) }
        try measure(some.count * 11) { try expect(load(some), some.count * 10) }
        let several = (0..<10_000).map { Int(hash(2, $0) % UInt64(items)) }
        try measure(several.count) { try find(several) }
        try measure(several.count) { try update(several) }
        try measure(10_000 * 12) { try transaction { try insertUsers(users..<users + 10_000) } }
        try measure(some.count) { try append(some) }
        try measure(1000) { try owners(several.prefix(1000)) }
        times.append(Double(size) / 1e6)
        return times.map { String(format: "%12.2f", $0) }.joined()
    }

    private func number(_ sql: String) throws -> Int {
        let statement = try database.prepare(sql)
        defer { sqlite3_finalize(statement) }
        guard sqlite3_step(statement) == SQLITE_ROW else { throw BenchmarkError("\(sql): no row") }
        return Int(sqlite3_column_int64(statement, 0))
    }

    private func expect(_ found: Int, _ wanted: Int) throws {
        guard found == wanted else { throw BenchmarkError("\(layout.name): \(found) links, not \(wanted)") }
    }

    // MARK: What the rows hold

    private enum Kind: UInt64 {
        case user = 1
        case cart, item
    }

    private func hash(_ seed: UInt64, _ index: Int) -> UInt64 {
        var random = Random(state: seed &* 0x9e37_79b9 &+ UInt64(index))
        return random.next()
    }

    private func id(_ kind: Kind, _ index: Int) -> UUID {
        var random = Random(state: kind.rawValue << 56 &+ UInt64(index))
        return random.uuid()
    }

    private func target(_ user: Int, _ place: Int) -> Int { Int(hash(3, user * 10 + place) % UInt64(items)) }

    private func bind(_ statement: OpaquePointer, _ place: Int32, _ kind: Kind, _ index: Int) {
        if layout.hasIntegers {
            sqlite3_bind_int64(statement, place, Int64(index + 1))
        } else {
            Benchmarks.bind(statement, place, id(kind, index))
        }
    }

    // MARK: Writing

    private func transaction(_ body: () throws -> Void) throws {
        try database.execute("BEGIN IMMEDIATE")
        try body()
        try database.execute("COMMIT")
    }

    /// Writes all rows.
    func fill() throws {
        // Of a file that the cache does not hold, an index is made fastest at once: by sorting.
        let isLarge = scale > 20
        if !isLarge { for sql in layout.indexes { try database.execute(sql) } }
        for start in stride(from: 0, to: items, by: 50_000) {
            try transaction { try insertItems(start..<min(items, start + 50_000)) }
        }
        for start in stride(from: 0, to: users, by: 10_000) {
            try transaction { try insertUsers(start..<start + 10_000) }
        }
        if isLarge { for sql in layout.indexes { try database.execute(sql) } }
    }

    /// Prepares an INSERT of a row with a key.
    private func insertion(_ table: String, _ columns: [String]) throws -> OpaquePointer {
        let all = (layout.hasIntegers ? ["id", "row"] : ["id"]) + columns
        let marks = all.map { _ in "?" }.joined(separator: ", ")
        return try database.prepare("INSERT INTO \(table) (\(all.joined(separator: ", "))) VALUES (\(marks))")
    }

    /// Binds a row's own key; answers with the next place.
    private func bindKey(_ statement: OpaquePointer, _ kind: Kind, _ index: Int) -> Int32 {
        Benchmarks.bind(statement, 1, id(kind, index))
        guard layout.hasIntegers else { return 2 }
        sqlite3_bind_int64(statement, 2, Int64(index + 1))
        return 3
    }

    private func insertItems(_ range: Range<Int>) throws {
        let insert = try insertion("item", ["name", "price"])
        defer { sqlite3_finalize(insert) }
        for index in range {
            let next = bindKey(insert, .item, index)
            Benchmarks.bind(insert, next, "item number \(index)")
            sqlite3_bind_int64(insert, next + 1, Int64(index))
            try database.run(insert)
        }
    }

    private func insertUsers(_ range: Range<Int>) throws {
        let user = try insertion("user", ["name"])
        let cart = try insertion("cart", layout.isPacked ? ["user", "items"] : ["user"])
        let line = try database.prepare(
            layout.isPacked
                ? "INSERT OR IGNORE INTO line (owner, target) VALUES (?, ?)"
                : "INSERT INTO line (owner, target, position) VALUES (?, ?, ?)")
        defer { for statement in [user, cart, line] { sqlite3_finalize(statement) } }
        var list: [UInt8] = []
        for index in range {
            Benchmarks.bind(user, bindKey(user, .user, index), "user number \(index)")
            try database.run(user)
            let next = bindKey(cart, .cart, index)
            bind(cart, next, .user, index)
            if layout.isPacked {
                list.removeAll(keepingCapacity: true)
                for place in 0..<10 { list += packed(target(index, place)) }
                bind(cart, next + 1, list)
            }
            try database.run(cart)
            for place in 0..<10 {
                bind(line, 1, .cart, index)
                bind(line, 2, .item, target(index, place))
                if !layout.isPacked { sqlite3_bind_int64(line, 3, Int64(place + 1) << 20) }
                try database.run(line)
            }
        }
    }

    private func packed(_ item: Int) -> [UInt8] {
        layout.hasIntegers
            ? withUnsafeBytes(of: Int64(item + 1), Array.init) : withUnsafeBytes(of: id(.item, item), Array.init)
    }

    private func bind(_ statement: OpaquePointer, _ place: Int32, _ bytes: [UInt8]) {
        sqlite3_bind_blob(
            statement, place, bytes, Int32(bytes.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }

    private func update(_ indices: [Int]) throws {
        try transaction {
            let update = try database.prepare("UPDATE item SET price = ? WHERE id = ?")
            defer { sqlite3_finalize(update) }
            for index in indices {
                sqlite3_bind_int64(update, 1, Int64(index + 1))
                Benchmarks.bind(update, 2, id(.item, index))
                try database.run(update)
            }
        }
    }

    /// Adds an item at the end of each of these users' carts.
    private func append(_ indices: [Int]) throws {
        try transaction {
            let whole = try database.prepare(
                layout.isPacked ? "UPDATE cart SET items = items || ? WHERE \(layout.key) = ?" : "SELECT 1")
            let line = try database.prepare(
                layout.isPacked
                    ? "INSERT OR IGNORE INTO line (owner, target) VALUES (?, ?)"
                    : "INSERT INTO line (owner, target, position) "
                        + "SELECT ?1, ?2, max(position) + (1 << 20) FROM line WHERE owner = ?1")
            defer { for statement in [whole, line] { sqlite3_finalize(statement) } }
            for index in indices {
                if layout.isPacked {
                    bind(whole, 1, packed(index % items))
                    bind(whole, 2, .cart, index)
                    try database.run(whole)
                }
                bind(line, 1, .cart, index)
                bind(line, 2, .item, index % items)
                try database.run(line)
            }
        }
    }

    // MARK: Reading

    private func find(_ indices: [Int]) throws {
        let find = try database.prepare("SELECT id, name, price FROM item WHERE id = ?")
        defer { sqlite3_finalize(find) }
        try database.execute("BEGIN")
        for index in indices {
            Benchmarks.bind(find, 1, id(.item, index))
            guard sqlite3_step(find) == SQLITE_ROW, try readItem(find).name == "item number \(index)" else {
                throw BenchmarkError("\(layout.name): item \(index) is not found")
            }
            sqlite3_reset(find)
        }
        try database.execute("COMMIT")
    }

    /// In how many carts each item is, as a rule of deletion asks.
    private func owners(_ indices: ArraySlice<Int>) throws {
        let owners = try database.prepare("SELECT count(*) FROM line WHERE target = ?")
        defer { sqlite3_finalize(owners) }
        for index in indices {
            bind(owners, 1, .item, index)
            guard sqlite3_step(owners) == SQLITE_ROW else { throw BenchmarkError("no count") }
            sqlite3_reset(owners)
        }
    }

    /// Loads everything; how many links the lists have is what it answers.
    func loadAll() throws -> Int {
        if layout.hasIntegers {
            var loader = IntegerLoader(layout, database, users: users, items: items)
            return try loader.loadAll()
        }
        var loader = IDLoader(layout, database, users: users, items: items)
        return try loader.loadAll()
    }

    private func load(_ indices: [Int]) throws -> Int {
        let ids = indices.map { id(.user, $0) }
        if layout.hasIntegers {
            var loader = IntegerLoader(layout, database, users: users, items: items, known: ids.count)
            return try loader.load(ids)
        }
        var loader = IDLoader(layout, database, users: users, items: items, known: ids.count)
        return try loader.load(ids)
    }
}

private typealias IntegerLoader = GraphLoader<RowMap<BUser>, RowMap<BCart>, RowMap<BItem>, Int>
private typealias IDLoader = GraphLoader<IDMap<BUser>, IDMap<BCart>, IDMap<BItem>, UUID>

/// What rows refer to each other by, as it stands in columns.
private protocol StudiedKey: Hashable {
    /// How many bytes of a packed list are one.
    static var width: Int { get }
    init(_ statement: OpaquePointer, _ column: Int32)
    init(_ bytes: UnsafeRawPointer)
    func bind(_ statement: OpaquePointer)
}

extension Int: StudiedKey {
    static var width: Int { 8 }
    init(_ statement: OpaquePointer, _ column: Int32) { self = Int(sqlite3_column_int64(statement, column)) }
    init(_ bytes: UnsafeRawPointer) { self = bytes.loadUnaligned(as: Int.self) }
    func bind(_ statement: OpaquePointer) { sqlite3_bind_int64(statement, 1, Int64(self)) }
}

extension UUID: StudiedKey {
    static var width: Int { 16 }
    init(_ statement: OpaquePointer, _ column: Int32) {
        self = sqlite3_column_blob(statement, column)?.loadUnaligned(as: UUID.self) ?? UUID()
    }
    init(_ bytes: UnsafeRawPointer) { self = bytes.loadUnaligned(as: UUID.self) }
    func bind(_ statement: OpaquePointer) { Benchmarks.bind(statement, 1, self) }
}

/// Finds objects by their rows' keys.
private protocol ObjectMap<Key, Object> {
    associatedtype Key: StudiedKey
    associatedtype Object: AnyObject
    init(capacity: Int)
    subscript(_ key: Key) -> Object? { get set }
}

private struct RowMap<Object: AnyObject>: ObjectMap {
    private var objects: [Object?]
    init(capacity: Int) { objects = Array(repeating: nil, count: capacity + 1) }
    subscript(_ key: Int) -> Object? {
        get { objects[key] }
        set { objects[key] = newValue }
    }
}

private struct IDMap<Object: AnyObject>: ObjectMap {
    private var objects: [UUID: Object] = [:]
    init(capacity: Int) { objects.reserveCapacity(capacity) }
    subscript(_ key: UUID) -> Object? {
        get { objects[key] }
        set { objects[key] = newValue }
    }
}

/// Loads graphs by hand; how many links they have is what it answers.
private struct GraphLoader<
    Users: ObjectMap<Key, BUser>, Carts: ObjectMap<Key, BCart>, Items: ObjectMap<Key, BItem>, Key
> {
    let layout: StudiedLayout
    let database: Database
    var users: Users
    var carts: Carts
    var items: Items
    /// The column of a row's key, and that of its UUID.
    private var keys: String { layout.hasIntegers ? "row, id" : "id" }
    private var idColumn: Int32 { layout.hasIntegers ? 1 : 0 }

    init(_ layout: StudiedLayout, _ database: Database, users: Int, items: Int, known: Int? = nil) {
        (self.layout, self.database) = (layout, database)
        self.users = Users(capacity: Key.self == Int.self ? users : known ?? users)
        carts = Carts(capacity: Key.self == Int.self ? users : known ?? users)
        self.items = Items(capacity: Key.self == Int.self ? items : (known ?? items) * 10)
    }

    private func user(_ row: OpaquePointer) -> BUser { BUser(id: UUID(row, idColumn), name: text(row, idColumn + 1)) }
    private func item(_ row: OpaquePointer) -> BItem {
        BItem(
            id: UUID(row, idColumn), name: text(row, idColumn + 1),
            price: Int(sqlite3_column_int64(row, idColumn + 2)))
    }

    private func rows(_ statement: OpaquePointer, _ body: (OpaquePointer) -> Void) {
        while sqlite3_step(statement) == SQLITE_ROW { body(statement) }
        sqlite3_reset(statement)
    }

    private func unpack(_ row: OpaquePointer, _ column: Int32, _ body: (Key) -> Void) {
        guard let bytes = sqlite3_column_blob(row, column) else { return }
        for place in 0..<Int(sqlite3_column_bytes(row, column)) / Key.width {
            body(Key(UnsafeRawPointer(bytes) + place * Key.width))
        }
    }

    mutating func loadAll() throws -> Int {
        try database.execute("BEGIN")
        var all: [BUser] = []
        var statement = try database.prepare("SELECT \(keys), name FROM user")
        rows(statement) { row in
            let user = user(row)
            users[Key(row, 0)] = user
            all.append(user)
        }
        sqlite3_finalize(statement)
        statement = try database.prepare("SELECT \(keys), name, price FROM item")
        rows(statement) { items[Key($0, 0)] = item($0) }
        sqlite3_finalize(statement)
        statement = try database.prepare("SELECT \(keys), user\(layout.isPacked ? ", items" : "") FROM cart")
        rows(statement) { row in
            let cart = BCart(id: UUID(row, idColumn))
            cart.owner = users[Key(row, idColumn + 1)]
            cart.owner?.cart = cart
            if layout.isPacked {
                unpack(row, idColumn + 2) { key in if let item = items[key] { cart.items.append(item) } }
            } else {
                carts[Key(row, 0)] = cart
            }
        }
        sqlite3_finalize(statement)
        if !layout.isPacked {
            statement = try database.prepare("SELECT owner, target FROM line ORDER BY owner, position")
            var last: (key: Key, cart: BCart?)?
            rows(statement) { row in
                let key = Key(row, 0)
                if last?.key != key { last = (key, carts[key]) }
                if let item = items[Key(row, 1)] { last?.cart?.items.append(item) }
            }
            sqlite3_finalize(statement)
        }
        try database.execute("COMMIT")
        return all.reduce(0) { $0 + ($1.cart?.items.count ?? 0) }
    }

    /// The graphs of some users, each found by its UUID.
    mutating func load(_ ids: [UUID]) throws -> Int {
        try database.execute("BEGIN")
        let user = try database.prepare("SELECT \(keys), name FROM user WHERE id = ?")
        let cart = try database.prepare(
            "SELECT \(keys)\(layout.isPacked ? ", items" : "") FROM cart WHERE user = ?")
        let line = try database.prepare(
            layout.isPacked ? "SELECT 1" : "SELECT target FROM line WHERE owner = ? ORDER BY position")
        let item = try database.prepare("SELECT \(keys), name, price FROM item WHERE \(layout.key) = ?")
        defer { for statement in [user, cart, line, item] { sqlite3_finalize(statement) } }
        var all: [BUser] = []
        var targets: [Key] = []
        for id in ids {
            Benchmarks.bind(user, 1, id)
            var key: Key?
            rows(user) { row in
                key = Key(row, 0)
                all.append(self.user(row))
            }
            guard let owner = all.last, let key else { throw BenchmarkError("\(layout.name): no user") }
            key.bind(cart)
            targets.removeAll(keepingCapacity: true)
            rows(cart) { row in
                let made = BCart(id: UUID(row, idColumn))
                (made.owner, owner.cart) = (owner, made)
                if layout.isPacked {
                    unpack(row, idColumn + 1) { targets.append($0) }
                } else {
                    Key(row, 0).bind(line)
                    rows(line) { targets.append(Key($0, 0)) }
                }
            }
            for key in targets {
                if let known = items[key] {
                    owner.cart?.items.append(known)
                } else {
                    key.bind(item)
                    rows(item) { row in
                        let made = self.item(row)
                        items[key] = made
                        owner.cart?.items.append(made)
                    }
                }
            }
        }
        try database.execute("COMMIT")
        return all.reduce(0) { $0 + ($1.cart?.items.count ?? 0) }
    }
}
