import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapper

@Suite struct `Numbers by id` {
    enum Operation: Sendable {
        case set(Int, Int32)
        case ask(Int, Int32)
        case remove(Int)
        case reserve(Int)
        case renumber
    }

    /// Few ids, so that most are met again and searches run into each other.
    static let operations = Gen<[Operation]>.array(
        of: .frequency(
            (6, Gen.int(in: 0...40).map { .set($0, Int32($0 * 2)) }),
            (4, Gen.int(in: 0...40).map { .ask($0, Int32($0 * 3)) }),
            (6, Gen.int(in: 0...40).map { .remove($0) }), (1, Gen.int(in: 0...100).map { .reserve($0) }),
            (1, .always(.renumber))), count: 0...200)

    private func agrees<ID: Storable & Hashable>(_ operations: [Operation], _ id: (Int) -> ID) throws {
        var index = IDIndex<ID>()
        var reference: [ID: Int32] = [:]
        for operation in operations {
            switch operation {
            case .set(let place, let number):
                index[id(place)] = number
                reference[id(place)] = number
            case .ask(let place, let number):
                let known = reference[id(place)] ?? number
                try ensure(index.number(of: id(place), orInsert: number) == known)
                reference[id(place)] = known
            case .remove(let place):
                index.remove(id(place))
                reference[id(place)] = nil
            case .reserve(let count): index.reserveCapacity(count)
            case .renumber:
                index = index.compactMapNumbers { $0 % 3 == 0 ? nil : $0 + 1 }
                reference = reference.compactMapValues { $0 % 3 == 0 ? nil : $0 + 1 }
            }
            try ensure(index.count == reference.count)
        }
        for place in 0...40 { try ensure(index[id(place)] == reference[id(place)]) }
    }

    @Test func `are those of a dictionary, whatever is done`() throws {
        try check(Self.operations, count: 300) { operations in
            try agrees(operations) { $0 }
            try agrees(operations) { "id \($0)" }
            try agrees(operations) { UUID(uuid: (UInt8($0), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)) }
        }
    }

    /// What Swift takes for equal and is stored otherwise.
    @Test func `tell spellings of one letter apart`() {
        var index = IDIndex<String>()
        index["\u{e9}"] = 1
        index["e\u{301}"] = 2
        #expect(index["\u{e9}"] == 1)
        #expect(index["e\u{301}"] == 2)
    }
}
