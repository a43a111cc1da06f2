import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

struct EveryType: StoredRecord {
    let id: Int
    var flag = false
    var int = 0
    var int8: Int8 = 0
    var int16: Int16 = 0
    var int32: Int32 = 0
    var int64: Int64 = 0
    var uint8: UInt8 = 0
    var uint16: UInt16 = 0
    var uint32: UInt32 = 0
    var uint64: UInt64 = 0
    var uint: UInt = 0
    var float: Float = 0
    var double = 0.0
    var text = ""
    var data = Data()
    var date = Date(timeIntervalSince1970: 0)
    var key: UUID?
    var texts: [String] = []
    var numbers: [Double] = []
    var dates: [Date]?
    var keys: Set<UUID> = []
    var blobs: [Data] = []
    var flags: [Bool] = []
    var words: Set<String> = []
    var prices: [String: Decimal] = [:]
    var bytes: [String: UInt64]?

    static let schema = Schema<Self>("every") { row in
        try Self(
            id: row("id", \.id), flag: row("flag", \.flag), int: row("int", \.int), int8: row("int8", \.int8),
            int16: row("int16", \.int16), int32: row("int32", \.int32), int64: row("int64", \.int64),
            uint8: row("uint8", \.uint8), uint16: row("uint16", \.uint16), uint32: row("uint32", \.uint32),
            uint64: row("uint64", \.uint64), uint: row("uint", \.uint), float: row("float", \.float),
            double: row("double", \.double), text: row("text", \.text), data: row("data", \.data),
            date: row("date", \.date), key: row("key", \.key), texts: row("texts", \.texts),
            numbers: row("numbers", \.numbers), dates: row("dates", \.dates), keys: row("keys", \.keys),
            blobs: row("blobs", \.blobs), flags: row("flags", \.flags), words: row("words", \.words),
            prices: row("prices", \.prices), bytes: row("bytes", \.bytes))
    }
}

private let everyType = Gen<EveryType> { choices in
    func number<N: FixedWidthInteger>(_ type: N.Type) -> N {
        let ends: [N] = [.min, .max, 0, 1]
        return choices.bool()
            ? ends[choices.index(below: 4)] : N(truncatingIfNeeded: choices.draw(upTo: .max))
    }
    var row = EveryType(id: 1)
    row.flag = choices.bool()
    row.int = number(Int.self)
    row.int8 = number(Int8.self)
    row.int16 = number(Int16.self)
    row.int32 = number(Int32.self)
    row.int64 = number(Int64.self)
    row.uint8 = number(UInt8.self)
    row.uint16 = number(UInt16.self)
    row.uint32 = number(UInt32.self)
    row.uint64 = number(UInt64.self)
    row.uint = number(UInt.self)
    row.float = Float(bitPattern: number(UInt32.self))
    row.double = Gen<Double>.double.generate(&choices)
    row.text = Gen<String>.string.generate(&choices)
    row.data = Gen<Data>.data.generate(&choices)
    row.date = Date(timeIntervalSince1970: Double(number(Int32.self)) + 0.123_456)
    row.key = Gen<UUID?>.optional(.uuid).generate(&choices)
    row.texts = Gen<[String]>.array(of: .string, count: 0...4).generate(&choices)
    row.numbers = Gen<[Double]>.array(of: .double, count: 0...6).generate(&choices)
    row.dates = choices.bool() ? nil : Gen<[Date]>.array(of: .date, count: 0...3).generate(&choices)
    row.keys = Set(Gen<[UUID]>.array(of: .uuid, count: 0...4).generate(&choices))
    row.blobs = Gen<[Data]>.array(of: .data, count: 0...3).generate(&choices)
    row.flags = Gen<[Bool]>.array(of: .bool, count: 0...5).generate(&choices)
    row.words = Set(Gen<[String]>.array(of: .string, count: 0...4).generate(&choices))
    for text in Gen<[String]>.array(of: .string, count: 0...3).generate(&choices) {
        row.prices[text] = Decimal(number(Int.self)) / 1000
    }
    row.bytes = choices.bool() ? nil : [Gen<String>.string.generate(&choices): number(UInt64.self)]
    return row
}

struct NarrowDocument: StoredRecord {
    let id: Int
    let title: String
    static let schema = Schema<Self>("document") { row in
        try Self(id: row("id", \.id), title: row("title", \.title))
    }
}

struct Document: StoredRecord {
    let id: Int
    var title: String
    var scan: Lazy<Data>
    var note: Lazy<String?>
    var pages: Int
    var tags: Set<Ref<NarrowDocument>>
    static let schema = Schema<Self>("document") { row in
        try Self(
            id: row("id", \.id), title: row("title", \.title), scan: row("scan", \.scan), note: row("note", \.note),
            pages: row("pages", \.pages), tags: row("tags", \.tags))
    }
}

private struct WrongDocument: StoredRecord {
    let id: Int
    let title: Int
    static let schema = Schema<Self>("document") { row in
        try Self(id: row("id", \.id), title: row("title", \.title))
    }
}

@Suite(.perEngine) struct `Every type` {
    @Test func `what a record holds comes back to the bit`() async throws {
        #expect(EveryType.schema.diagnostics == [])
        let store = try await Engine.open(EveryType.self)
        try await check(everyType) { row in
            try await store.write { tx async throws in
                try await tx.upsert(row)
                let found = try #require(try await tx.find(EveryType.self, 1))
                for property in EveryType.schema.properties where !property.isSame(found, row) {
                    throw Violation(description: "\(property.name): \(found)")
                }
                #expect(try await tx.upsert(row) == .unchanged)
            }
        }
    }

    @Test func `a number that does not fit its type is an error that names the column`() async throws {
        let store = try await Engine.open(EveryType.self)
        for (column, value) in [("int8", 128), ("int16", -32769), ("uint8", -1), ("uint32", 1 << 32)]
            as [(String, Int64)]
        {
            try await store.write { tx in
                try await tx.upsert(EveryType(id: 1), policy: .all)
                try await tx.execute("UPDATE every SET \(column) = ?", [.integer(value)])
            }
            let error = await #expect(throws: GraphError.self) { try await store.find(EveryType.self, 1) }
            #expect(error?.kind == .conversion && error?.property == column, "\(String(describing: error))")
            try await store.write { try await $0.execute("UPDATE every SET \(column) = 0") }
        }
    }

    @Test(arguments: [
        ("texts", "[1]"), ("texts", "{}"), ("texts", "[\"a\""), ("texts", "[\"a\",]"), ("numbers", "[\"x\"]"),
        ("keys", "[\"00ff\"]"), ("prices", "[]"), ("prices", "{\"a\":[1]}"), ("flags", "[\"a\"]"),
        ("flags", "[true] x"),
        ("blobs", "[\"0\"]"), ("texts", "nonsense"),
    ])
    func `JSON of something else is an error that names the column`(column: String, text: String) async throws {
        let store = try await Engine.open(EveryType.self)
        try await store.write { tx in
            try await tx.insert(EveryType(id: 1))
            try await tx.execute("UPDATE every SET \(column) = ?", [.text(text)])
        }
        let error = await #expect(throws: GraphError.self) { try await store.find(EveryType.self, 1) }
        #expect(error?.kind == .conversion && error?.property == column, "\(String(describing: error))")
    }

    @Test func `JSON that a person wrote is read`() async throws {
        let store = try await Engine.open(EveryType.self)
        try await store.write { tx in
            try await tx.insert(EveryType(id: 1))
            try await tx.execute(
                "UPDATE every SET flags = ' [ true , false ] ', numbers = '[1, 2.5e0]', texts = '[\"\\u00e9\\ud83d\\ude00\\n\\/\"]', prices = '{ \"a\" : \"1.5\" }'"
            )
        }
        let row = try #require(try await store.find(EveryType.self, 1))
        #expect(
            row.flags == [true, false] && row.numbers == [1, 2.5] && row.texts == ["é😀\n/"] && row.prices == ["a": 1.5])
    }

    @Test func `a large blob comes back`() async throws {
        let store = try await Engine.open(EveryType.self)
        let data = Data(repeating: 7, count: 100_000_000)
        try await store.write { try await $0.insert(EveryType(id: 1, data: data)) }
        #expect(try await store.find(EveryType.self, 1)?.data == data)
    }
}

@Suite(.perEngine) struct `Lazy values and shared tables` {
    private func open() async throws -> GraphStore {
        try await Engine.open(Document.self, NarrowDocument.self)
    }
    private func document(_ id: Int) -> Document {
        Document(id: id, title: "t\(id)", scan: Lazy(Data([UInt8(id)])), note: Lazy(nil), pages: id, tags: [])
    }

    @Test func `a lazy value is written with its record, and read when asked for`() async throws {
        let store = try await open()
        try await store.write { tx in try await tx.insert(contentsOf: (1...20).map(document)) }
        let found = try await store.fetch(Query(Document.self))
        #expect(found.allSatisfy { $0.scan.value == nil && $0.note.value == .none })
        try await store.read { tx in
            let before = tx.statementCount
            let scans = try await tx.lazyValues(Document.self, \.scan, ids: found.map(\.id))
            #expect(scans == Dictionary(uniqueKeysWithValues: (1...20).map { ($0, Data([UInt8($0)])) }))
            #expect(tx.statementCount == before + 1)
            #expect(try await tx.lazyValues(Document.self, \.note, ids: [1]) == [1: nil])
            #expect(try await tx.lazyValue(Document.self, \.scan, 99) == nil)
        }
    }

    @Test func `what is unread is not written, what is set is`() async throws {
        let store = try await open()
        try await store.write { try await $0.insert(document(1)) }
        var found = try #require(try await store.find(Document.self, 1))
        found.pages = 7
        let unread = found
        #expect(try await store.write { try await $0.upsert(unread, policy: .all) } != .inserted)
        #expect(try await store.lazyValues(Document.self, \.scan, ids: [1]) == [1: Data([1])])
        found.scan = Lazy(Data([9]))
        let set = found
        #expect(try await store.write { try await $0.upsert(set) } == .updated(["scan"]))
        #expect(try await store.lazyValues(Document.self, \.scan, ids: [1]) == [1: Data([9])])
        try await store.write { tx in
            try await tx.apply(Patch(Document.self, 1).set(\.note, Lazy("n")).set(\.scan, .unread).set(\.title, "x"))
        }
        #expect(try await store.lazyValues(Document.self, \.note, ids: [1]) == [1: "n"])
        #expect(try await store.lazyValues(Document.self, \.scan, ids: [1]) == [1: Data([9])])
        #expect(try await store.find(Document.self, 1)?.title == "x")
    }

    @Test func `a row cannot be made without a lazy value that it needs`() async throws {
        let store = try await open()
        var row = document(1)
        row.scan = .unread
        let lacking = row
        await #expect { try await store.write { try await $0.insert(lacking) } } throws: {
            ($0 as? StoreError)?.kind == .constraint && "\($0)".contains("document.scan")
        }
    }

    @Test func `two record types read one table`() async throws {
        let store = try await open()
        try await store.write { tx in try await tx.insert(contentsOf: (1...3).map(document)) }
        #expect(try await store.fetch(Query(NarrowDocument.self).where { $0.title > "t1" }).map(\.id) == [2, 3])
        try await store.write { tx in try await tx.apply(Patch(NarrowDocument.self, 2).set(\.title, "new")) }
        #expect(try await store.find(Document.self, 2)?.title == "new")
        #expect(try await store.find(Document.self, 2)?.pages == 2)
    }

    @Test func `two record types that say different things of one table are an error`() async throws {
        let error = await #expect(throws: GraphError.self) {
            try await Engine.open(NarrowDocument.self, WrongDocument.self)
        }
        #expect(error?.kind == .invalidSchema && error?.message.contains("title") == true)
    }

    @Test func `a set of links is what it was, in any order`() async throws {
        let store = try await open()
        var row = document(1)
        row.tags = [Ref(1), Ref(2), Ref(3)]
        try await store.write { tx in try await tx.insert(contentsOf: [document(2), document(3)]) }
        for tags in [[1, 2, 3], [3, 1], [], [2]] as [Set<Int>] {
            row.tags = Set(tags.map { Ref($0) })
            let new = row
            try await store.write { try await $0.upsert(new) }
            #expect(try await store.find(Document.self, 1)?.tags == row.tags)
            #expect(try await store.write { try await $0.upsert(new) } == .updated(["scan", "note"]))
        }
    }

    @Test func `a file's URL moves with its folder`() throws {
        let old = URL(fileURLWithPath: "/apps/1/pictures", isDirectory: true)
        let new = URL(fileURLWithPath: "/apps/2/pictures/", isDirectory: true)
        let (before, after) = (Conversion<String, URL>.file(in: old), Conversion<String, URL>.file(in: new))
        for name in ["a.png", "b c/é.png", "a%20b"] {
            let stored = try before.encode(old.appendingPathComponent(name))
            #expect(stored == name)
            #expect(try after.decode(stored).path == "/apps/2/pictures/\(name)")
        }
        for url in [
            "https://a/b", "file:///apps/1/picturesque/a", "file:///apps/1/pictures/../x", "file:///apps/1/pictures",
        ] {
            #expect(throws: GraphError.self) { try before.encode(try #require(URL(string: url))) }
        }
        for path in ["", "/etc/passwd", "../x", "a/../../x"] {
            #expect(throws: GraphError.self) { try before.decode(path) }
        }
    }
}
