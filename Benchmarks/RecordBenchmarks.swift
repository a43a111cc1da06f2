import CSQLite
import Foundation
import GraphMapperStore

/// Records written and read one by one, against prepared statements by hand.
func benchmarkRecords(_ harness: Harness, _ workload: Workload) async throws {
    guard harness.wants("store.find", "store.update1", "store.upsert.unchanged", "store.bulk.insert") else { return }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("records.sqlite").path
    let store = try await GraphStore.open(.file(path), ItemRecord.self)
    try await store.write { try await $0.insert(contentsOf: workload.items) }
    let database = try Database(path)
    let ids = (workload.items + workload.items.reversed()).map(\.id)
    try await benchmarkFind(harness, store, database, ids)
    try await benchmarkUpdate(harness, store, database, ids)
    try await benchmarkUpsert(harness, store, database, workload.items)
    try await benchmarkBulkInsert(harness, folder)
}

/// One row, by its key.
private func item(_ statement: OpaquePointer, _ id: UUID) throws -> ItemRecord? {
    bind(statement, 1, id)
    defer { sqlite3_reset(statement) }
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return try readItem(statement)
    case SQLITE_DONE: return nil
    default: throw BenchmarkError("cannot read an item")
    }
}

private func benchmarkFind(
    _ harness: Harness, _ store: GraphStore, _ database: Database, _ ids: [UUID]
) async throws {
    try await harness.compare("store.find", n: ids.count, target: 1.25) {
        try await store.read { tx in
            var sum = 0
            for id in ids { sum += try await tx.find(ItemRecord.self, id)?.price ?? 0 }
            return sum
        }
    } baseline: {
        try database.execute("BEGIN")
        let find = try database.prepare("SELECT id, name, price FROM item WHERE id = ?")
        defer { sqlite3_finalize(find) }
        var sum = 0
        for id in ids { sum += try item(find, id)?.price ?? 0 }
        try database.execute("COMMIT")
        return sum
    }
}

private func benchmarkUpdate(
    _ harness: Harness, _ store: GraphStore, _ database: Database, _ ids: [UUID]
) async throws {
    var price = 0
    try await harness.compare("store.update1", n: ids.count, target: 1.2) {
        price += 1
        return try await store.write { tx in
            var count = 0
            for id in ids where try await tx.apply(Patch(ItemRecord.self, id).set(\.price, price)) { count += 1 }
            return count
        }
    } baseline: {
        price += 1
        try database.execute("BEGIN IMMEDIATE")
        let update = try database.prepare("UPDATE item SET price = ? WHERE id = ?")
        defer { sqlite3_finalize(update) }
        var count = 0
        for id in ids {
            sqlite3_bind_int64(update, 1, Int64(price))
            bind(update, 2, id)
            try database.run(update)
            if sqlite3_changes(database.handle) > 0 { count += 1 }
        }
        try database.execute("COMMIT")
        return count
    }
}

/// What an import does that brings nothing new; by hand, each row read and compared.
private func benchmarkUpsert(
    _ harness: Harness, _ store: GraphStore, _ database: Database, _ items: [ItemRecord]
) async throws {
    guard harness.wants("store.upsert.unchanged") else { return }
    let items = try await store.fetch(Query(ItemRecord.self)).sorted { $0.name < $1.name }
    try await harness.compare("store.upsert.unchanged", n: items.count) {
        try await store.write { tx in
            try await tx.upsert(contentsOf: items).filter { $0 == .unchanged }.count
        }
    } baseline: {
        try database.execute("BEGIN IMMEDIATE")
        let find = try database.prepare("SELECT id, name, price FROM item WHERE id = ?")
        let update = try database.prepare("UPDATE item SET name = ?, price = ? WHERE id = ?")
        let insert = try database.prepare("INSERT INTO item (name, price, id) VALUES (?, ?, ?)")
        defer { for statement in [find, update, insert] { sqlite3_finalize(statement) } }
        var count = 0
        for new in items {
            let old = try item(find, new.id)
            if let old, old.name == new.name, old.price == new.price {
                count += 1
                continue
            }
            let statement = old == nil ? insert : update
            bind(statement, 1, new.name)
            sqlite3_bind_int64(statement, 2, Int64(new.price))
            bind(statement, 3, new.id)
            try database.run(statement)
        }
        try database.execute("COMMIT")
        return count
    }
}

/// A hundred thousand new rows in one transaction, each time into a new file.
private func benchmarkBulkInsert(_ harness: Harness, _ folder: URL) async throws {
    guard harness.wants("store.bulk.insert") else { return }
    var random = Random(state: 7)
    let items = (0..<100_000).map { ItemRecord(id: random.uuid(), name: "item number \($0)", price: $0) }
    var run = 0
    func fresh() async throws -> (GraphStore, String) {
        run += 1
        let path = folder.appendingPathComponent("bulk\(run).sqlite").path
        return (try await GraphStore.open(.file(path), ItemRecord.self), path)
    }
    try await harness.compare("store.bulk.insert", n: items.count, target: 1.25) {
        let (store, _) = try await fresh()
        try await store.write { try await $0.insert(contentsOf: items) }
        return items.count
    } baseline: {
        let (_, path) = try await fresh()
        let database = try Database(path)
        try database.execute("BEGIN IMMEDIATE")
        let insert = try database.prepare("INSERT INTO item (id, name, price) VALUES (?, ?, ?)")
        defer { sqlite3_finalize(insert) }
        for item in items {
            bind(insert, 1, item.id)
            bind(insert, 2, item.name)
            sqlite3_bind_int64(insert, 3, Int64(item.price))
            try database.run(insert)
        }
        try database.execute("COMMIT")
        return items.count
    }
}
