import Foundation
import GraphMapperStore
import GraphMapperTesting
import Testing

@Suite struct `Tristate values` {
    struct Everything: Codable, Equatable, Sendable {
        var text: Tristate<String> = .unset
        var number: Tristate<Int> = .unset
        var list: Tristate<[Int]> = .unset
        var date: Tristate<Date> = .unset
        var nested: Tristate<Inner> = .unset
        struct Inner: Codable, Equatable, Sendable {
            var flag: Tristate<Bool> = .unset
        }
    }

    @Test func `a missing key is unset, and unset is no key`() throws {
        let value: Everything = try payload(#"{"number": null, "list": [1], "nested": {}}"#)
        #expect(value == Everything(number: .null, list: .value([1]), nested: .value(.init())))
        #expect(try json(value) == #"{"list":[1],"nested":{},"number":null}"#)
        #expect(try json(Everything()) == "{}")
    }

    static let everything = Gen<Tristate<String>>.tristate(.string).zip(.tristate(.int()))
        .zip(Gen<Tristate<[Int]>>.tristate(.array(of: .int(in: 0...9), count: 0...3)))
        .zip(Gen<Tristate<Bool>>.tristate(.bool))
        .map { parts in
            Everything(
                text: parts.0.0.0, number: parts.0.0.1, list: parts.0.1, nested: .value(.init(flag: parts.1)))
        }

    @Test func `all three survive JSON`() throws {
        try check(Self.everything, count: 300) { value in
            let data = try JSONEncoder().encode(value)
            try ensure(JSONDecoder().decode(Everything.self, from: data) == value)
            let keys = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            try ensure((keys["text"] == nil) == value.text.isUnset && (keys["list"] == nil) == value.list.isUnset)
            try ensure((keys["number"] is NSNull) == (value.number == .null))
        }
    }

    @Test func `a value of another type is an error that names the key`() {
        #expect { try payload(Everything.self, #"{"number": "x"}"#) } throws: { "\($0)".contains("number") }
    }

    @Test func `unset has no place in an array`() throws {
        #expect(try json([Tristate.value(1), .null]) == "[1,null]")
        #expect(throws: EncodingError.self) { try json([Tristate<Int>.unset]) }
    }

    struct Sparse: StoredRecord {
        let id: Int
        let name: Tristate<String>
        let age: Tristate<Int>
        static let schema = Schema<Self>("sparse") { row in
            try Self(id: row("id", \.id), name: row("name", \.name), age: row("age", \.age))
        }
    }

    @Test func `a record that leaves something unset does not write it`() async throws {
        let store = try await GraphStore.open(.inMemory, Sparse.self)
        func found() async throws -> Sparse { try #require(try await store.find(Sparse.self, 1)) }
        try await store.write { try await $0.insert(Sparse(id: 1, name: .value("hoon"), age: .unset)) }
        #expect(try await found().age == .null)
        let outcome = try await store.write { try await $0.upsert(Sparse(id: 1, name: .unset, age: .value(20))) }
        #expect(outcome == .updated(["age"]))
        #expect(try await found().name == .value("hoon"))
        try await store.write { _ = try await $0.upsert(Sparse(id: 1, name: .null, age: .unset)) }
        let last = try await found()
        #expect(last.name == .null && last.age == .value(20))
    }
}
