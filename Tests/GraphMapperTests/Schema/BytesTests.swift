import Foundation
import GraphMapper
import GraphMapperTesting
import Testing

/// Lists of up to forty bytes; every other one has sixteen.
private let someBytes = Gen<Bool>.bool.flatMap { isKey in
    Gen<[UInt8]>.array(of: byte, count: isKey ? 16...16 : 0...40)
}
private let byte = Gen<Int>.int(in: 0...255).map { UInt8($0) }

@Suite("Bytes") struct BytesTests {
    @Test("are what they were made of, however many") func roundTrip() throws {
        try check(someBytes) { list in
            let bytes = Bytes(list)
            let others = list.withUnsafeBytes { Bytes($0) }
            try #require(Array(bytes) == list && bytes.count == list.count)
            try #require(bytes == others && Set([bytes, others]).count == 1)
            try #require(bytes.withUnsafeBytes { Array($0) } == list)
            try #require(StoredValue.blob(list) == .blob(bytes))
            try #require(bytes.indices.map { bytes[$0] } == list)
        }
    }

    @Test("differ if one byte does, or their number") func difference() throws {
        try check(someBytes) { list in
            for place in list.indices {
                var other = list
                other[place] ^= 1
                try #require(Bytes(other) != Bytes(list))
            }
            try #require(Bytes(list + [0]) != Bytes(list))
        }
    }

    @Test("of an id are its sixteen, in order") func ids() throws {
        let id = try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
        #expect(id.stored == .blob(Array(0..<16)))
        #expect("\(id.stored)" == "00010203-0405-0607-0809-0a0b0c0d0e0f")
    }

    @Test("of keys lie side by side until another kind of key comes") func linkRows() throws {
        let uniform = byte.map { StoredValue.blob([UInt8](repeating: $0, count: 16)) }
        let key = Gen<StoredValue>.oneOf(
            uniform, uniform, uniform, Gen<Int>.int(in: 0...9).map { .integer(Int64($0)) },
            Gen<Int>.int(in: 0...20).map { .text(String(repeating: "a", count: $0)) },
            Gen<Int>.int(in: 0...17).map { .blob([UInt8](repeating: 1, count: $0)) })
        let lists = Gen<[StoredValue]>.oneOf(
            Gen<[StoredValue]>.array(of: uniform), Gen<[StoredValue]>.array(of: key))
        try check(lists) { values in
            // What is read back from the cells is what went in, whether they were uniform or not.
            let row = try ListRow.schema.dto(columns: ["id": .integer(1)], links: ["targets": []])
            try #require(row.targets.isEmpty)
            let ids = values.compactMap { value -> UUID? in
                guard case .blob(let bytes) = value, bytes.count == 16 else { return nil }
                return bytes.withUnsafeBytes { $0.loadUnaligned(as: UUID.self) }
            }
            let links = ["targets": values]
            if ids.count == values.count {
                let row = try ListRow.schema.dto(columns: ["id": .integer(1)], links: links)
                try #require(row.targets.map(\.id) == ids)
            } else {
                #expect(throws: GraphError.self) {
                    try ListRow.schema.dto(columns: ["id": .integer(1)], links: links)
                }
            }
        }
    }
}

private struct TargetRow: DTO, Identifiable {
    let id: UUID
    static let schema = Schema<Self>("target") { row in try Self(id: row("id", \.id)) }
}

private struct ListRow: DTO, Identifiable {
    let id: Int
    let targets: [Ref<TargetRow>]
    static let schema = Schema<Self>("list") { row in
        try Self(id: row("id", \.id), targets: row("targets", \.targets))
    }
}
