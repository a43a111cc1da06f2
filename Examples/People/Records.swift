import Foundation
import GraphMapperStore

/// A person as the first version of the app stored one.
struct FirstPerson: StoredRecord {
    let id: Int
    let name: String

    static let schema = Schema<Self>("person") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
}

struct PersonRecord: StoredRecord {
    let id: Int
    var name: String
    var age: Int

    static let schema = Schema<Self>("person") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), age: row("age", \.age))
    }
    static let indexes: [Index<Self>] = [.on(\.name)]
}

/// A key of two properties: no separator can be mistaken.
struct BadgeKey: EmbeddedValue, Hashable {
    let club: String
    let number: String

    static let schema = Schema<Self> { row in
        try Self(club: row("club", \.club), number: row("number", \.number))
    }
}

struct BadgeRecord: StoredRecord {
    let id: BadgeKey
    let owner: Ref<PersonRecord>

    static let schema = Schema<Self>("badge") { row in try Self(id: row("", \.id), owner: row("owner_id", \.owner)) }
}

let migrations = [
    Migration("people have an age") { step in try await step.add("age", Int.self, to: "person", default: 0) }
]
