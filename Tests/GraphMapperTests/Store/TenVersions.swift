import Foundation
import GraphMapperTesting

@testable import GraphMapperStore

// Ten versions of a library's app. What a version changes has a type of its own; the rest is shared.

struct Residence: EmbeddedValue, Hashable {
    var street: String
    var city: String
    static let schema = Schema<Self> { row in try Self(street: row("street", \.street), city: row("city", \.city)) }
}
/// 1 to 4.
struct ReaderA: StoredRecord {
    let id: Int
    var name: String
    var home: Residence?
    static let schema = Schema<Self>("reader") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), home: row("home", \.home))
    }
}
/// 5: two names.
struct ReaderB: StoredRecord {
    let id: Int
    var first: String
    var last: String
    var home: Residence?
    static let schema = Schema<Self>("reader") { row in
        try Self(
            id: row("id", \.id), first: row("first", \.first), last: row("last", \.last), home: row("home", \.home))
    }
}
/// 6: homes have a table. From 7 on the key is a text.
struct ReaderC<ID: Storable & Hashable>: StoredRecord {
    let id: ID
    var first: String
    var last: String
    static var schema: Schema<Self> {
        Schema("reader") { row in
            try Self(id: row("id", \.id), first: row("first", \.first), last: row("last", \.last))
        }
    }
}
struct Home<ID: Storable & Hashable>: StoredRecord {
    let id: Int
    var reader: Ref<ReaderC<ID>>
    var street: String
    var city: String
    static var schema: Schema<Self> {
        Schema("home") { row in
            try Self(
                id: row("id", \.id), reader: row("reader", \.reader), street: row("street", \.street),
                city: row("city", \.city))
        }
    }
    static var indexes: [Index<Self>] { [.on(\.city)] }
}
/// 1.
struct LoanA: StoredRecord {
    let id: Int
    var reader: Ref<ReaderA>?
    var title: String
    static let schema = Schema<Self>("loan") { row in
        try Self(id: row("id", \.id), reader: row("reader", \.reader), title: row("title", \.title))
    }
}
/// 2: days.
struct LoanB: StoredRecord {
    let id: Int
    var reader: Ref<ReaderA>?
    var title: String
    var days: Int
    static let schema = Schema<Self>("loan") { row in
        try Self(
            id: row("id", \.id), reader: row("reader", \.reader), title: row("title", \.title),
            days: row("days", \.days))
    }
}
/// 3: titles are called books.
struct LoanC: StoredRecord {
    let id: Int
    var reader: Ref<ReaderA>?
    var book: String
    var days: Int
    static let schema = Schema<Self>("loan") { row in
        try Self(
            id: row("id", \.id), reader: row("reader", \.reader), book: row("book", \.book), days: row("days", \.days))
    }
    static let indexes: [Index<Self>] = [.on(\.book)]
}
/// 4 to 7: and books are called works.
struct LoanD<Reader: StoredRecord>: StoredRecord {
    let id: Int
    var reader: Ref<Reader>?
    var work: String
    var days: Int
    static var schema: Schema<Self> {
        Schema("loan") { row in
            try Self(
                id: row("id", \.id), reader: row("reader", \.reader), work: row("work", \.work),
                days: row("days", \.days))
        }
    }
    static var indexes: [Index<Self>] { [.on(\.work)] }
}
typealias Reader = ReaderC<String>
/// 8: there is a reader.
struct LoanE: StoredRecord {
    let id: Int
    var reader: Ref<Reader>
    var work: String
    var days: Int
    static let schema = Schema<Self>("loan") { row in
        try Self(
            id: row("id", \.id), reader: row("reader", \.reader), work: row("work", \.work), days: row("days", \.days))
    }
}
/// 9: two columns have traded names, and one has another type.
struct LoanF: StoredRecord {
    let id: Int
    var reader: Ref<Reader>
    var work: Double
    var days: String
    static let schema = Schema<Self>("loan") { row in
        try Self(
            id: row("id", \.id), reader: row("reader", \.reader), work: row("work", \.work), days: row("days", \.days))
    }
}
/// 10: works have a table.
struct Work: StoredRecord, Hashable {
    let id: Int
    var title: String
    static let schema = Schema<Self>("work") { row in try Self(id: row("id", \.id), title: row("title", \.title)) }
    static let indexes: [Index<Self>] = [.unique(\.title)]
}
struct LoanG: StoredRecord {
    let id: Int
    var reader: Ref<Reader>
    var work: Ref<Work>
    var length: Double
    static let schema = Schema<Self>("loan") { row in
        try Self(
            id: row("id", \.id), reader: row("reader", \.reader), work: row("work", \.work),
            length: row("length", \.length))
    }
}

/// What is in the library, whatever the version.
struct Library: Equatable {
    struct Loan: Equatable {
        var id: Int
        var reader: Int
        var title: String
        var days: Int
    }
    struct Person: Equatable {
        var id: Int
        var first: String
        var last: String
        var home: Residence?
    }
    var people: [Person]
    var loans: [Loan]

    /// - Parameter count: how many people there are, with two loans each.
    init(_ count: Int) {
        people = (0..<count).map {
            Person(
                id: $0, first: "first\($0)", last: "last \($0)",
                home: $0 % 3 == 0 ? nil : Residence(street: "street \($0)", city: "city \($0 % 2)"))
        }
        loans = (0..<2 * count).map { Loan(id: $0, reader: $0 / 2, title: "title \($0 % 5)", days: $0) }
    }
}

enum TenVersions {
    static let steps: [Migration] = [
        Migration("loans have days") { try await $0.add("days", Int.self, to: "loan", default: 14) },
        Migration("titles are called books") { try await $0.rename("title", to: "book", in: "loan") },
        Migration("books are called works") { try await $0.rename("book", to: "work", in: "loan") },
        Migration("two names") { step in
            try await step.transform(ReaderA.self, to: ReaderB.self) { old in
                let names = old.name.split(separator: " ", maxSplits: 1).map(String.init)
                return ReaderB(id: old.id, first: names[0], last: names[1], home: old.home)
            }
        },
        Migration("homes have a table") { step in
            try await step.create(Home<Int>.self)
            try await step.transform(ReaderB.self, to: ReaderC<Int>.self) { old in
                if let home = old.home {
                    try await step.insert(
                        Home<Int>(id: old.id, reader: Ref(old.id), street: home.street, city: home.city))
                }
                return ReaderC(id: old.id, first: old.first, last: old.last)
            }
        },
        Migration("keys of readers are texts") { step in
            try await step.transform(ReaderC<Int>.self, to: Reader.self) {
                Reader(id: "r\($0.id)", first: $0.first, last: $0.last)
            }
            try await step.transform(Home<Int>.self, to: Home<String>.self) {
                Home(id: $0.id, reader: Ref("r\($0.reader.id)"), street: $0.street, city: $0.city)
            }
            try await step.transform(LoanD<ReaderC<Int>>.self, to: LoanD<Reader>.self) { loan in
                LoanD(id: loan.id, reader: loan.reader.map { Ref("r\($0.id)") }, work: loan.work, days: loan.days)
            }
        },
        Migration("a loan has a reader") { step in
            try await step.transform(LoanD<Reader>.self, to: LoanE.self) { loan in
                loan.reader.map { LoanE(id: loan.id, reader: $0, work: loan.work, days: loan.days) }
            }
        },
        Migration("days and works trade names") { step in
            try await step.rename("days", to: "other", in: "loan")
            try await step.rename("work", to: "days", in: "loan")
            try await step.rename("other", to: "work", in: "loan")
            try await step.retype("work", in: "loan", from: Int.self, to: Double.self) { Double($0) }
        },
        Migration("works have a table") { step in
            try await step.create(Work.self)
            var ids: [String: Int] = [:]
            try await step.transform(LoanF.self, to: LoanG.self) { loan in
                let id = ids[loan.days] ?? ids.count
                ids[loan.days] = id
                return LoanG(id: loan.id, reader: loan.reader, work: Ref(id), length: loan.work)
            }
            for (title, id) in ids { try await step.insert(Work(id: id, title: title)) }
        },
    ]

    /// The records of a version, counted from 1.
    static func records(_ version: Int) -> [any StoredRecord.Type] {
        switch version {
        case 1: [ReaderA.self, LoanA.self]
        case 2: [ReaderA.self, LoanB.self]
        case 3: [ReaderA.self, LoanC.self]
        case 4: [ReaderA.self, LoanD<ReaderA>.self]
        case 5: [ReaderB.self, LoanD<ReaderB>.self]
        case 6: [ReaderC<Int>.self, Home<Int>.self, LoanD<ReaderC<Int>>.self]
        case 7: [Reader.self, Home<String>.self, LoanD<Reader>.self]
        case 8: [Reader.self, Home<String>.self, LoanE.self]
        case 9: [Reader.self, Home<String>.self, LoanF.self]
        default: [Reader.self, Home<String>.self, LoanG.self, Work.self]
        }
    }

    /// That version of the app opens a file.
    static func open(
        _ path: String, _ version: Int, _ options: GraphStore.Options = .init(), steps: [Migration] = steps
    ) async throws -> GraphStore {
        var options = options
        options.migrations = Array(steps.prefix(version - 1))
        return try await GraphStore.make(.file(path), options, records(version))
    }

    /// That version of the app fills its file.
    static func fill(_ store: GraphStore, _ version: Int, _ library: Library) async throws {
        try await store.write { tx in
            for person in library.people {
                let name = "\(person.first) \(person.last)"
                switch version {
                case ...4: try await tx.insert(ReaderA(id: person.id, name: name, home: person.home))
                case 5:
                    try await tx.insert(
                        ReaderB(id: person.id, first: person.first, last: person.last, home: person.home))
                case 6:
                    try await tx.insert(ReaderC<Int>(id: person.id, first: person.first, last: person.last))
                default: try await tx.insert(Reader(id: "r\(person.id)", first: person.first, last: person.last))
                }
                guard version >= 6, let home = person.home else { continue }
                if version == 6 {
                    try await tx.insert(
                        Home<Int>(id: person.id, reader: Ref(person.id), street: home.street, city: home.city))
                } else {
                    try await tx.insert(
                        Home<String>(id: person.id, reader: Ref("r\(person.id)"), street: home.street, city: home.city))
                }
            }
            for loan in library.loans {
                let (id, days, title) = (loan.id, loan.days, loan.title)
                switch version {
                case 1: try await tx.insert(LoanA(id: id, reader: Ref(loan.reader), title: title))
                case 2: try await tx.insert(LoanB(id: id, reader: Ref(loan.reader), title: title, days: days))
                case 3: try await tx.insert(LoanC(id: id, reader: Ref(loan.reader), book: title, days: days))
                case 4:
                    try await tx.insert(LoanD<ReaderA>(id: id, reader: Ref(loan.reader), work: title, days: days))
                case 5:
                    try await tx.insert(LoanD<ReaderB>(id: id, reader: Ref(loan.reader), work: title, days: days))
                case 6:
                    try await tx.insert(
                        LoanD<ReaderC<Int>>(id: id, reader: Ref(loan.reader), work: title, days: days))
                case 7:
                    try await tx.insert(LoanD<Reader>(id: id, reader: Ref("r\(loan.reader)"), work: title, days: days))
                case 8: try await tx.insert(LoanE(id: id, reader: Ref("r\(loan.reader)"), work: title, days: days))
                case 9:
                    try await tx.insert(
                        LoanF(id: id, reader: Ref("r\(loan.reader)"), work: Double(days), days: title))
                default:
                    let work = Int(title.suffix(1)) ?? 0
                    try await tx.upsert(Work(id: work, title: title))
                    try await tx.insert(
                        LoanG(id: id, reader: Ref("r\(loan.reader)"), work: Ref(work), length: Double(days)))
                }
            }
        }
    }

    /// What the newest version of the app has in its file.
    static func library(_ store: GraphStore) async throws -> Library {
        try await store.read { tx in
            let homes = try await tx.fetch(Query(Home<String>.self))
            let works = try await tx.fetch(Query(Work.self))
            var library = Library(0)
            library.people = try await tx.fetch(Query(Reader.self)).map { reader in
                let home = homes.first { $0.reader.id == reader.id }
                return Library.Person(
                    id: Int(reader.id.dropFirst()) ?? -1, first: reader.first, last: reader.last,
                    home: home.map { Residence(street: $0.street, city: $0.city) })
            }.sorted { $0.id < $1.id }
            library.loans = try await tx.fetch(Query(LoanG.self).sorted(by: \.id)).map { loan in
                Library.Loan(
                    id: loan.id, reader: Int(loan.reader.id.dropFirst()) ?? -1,
                    title: works.first { $0.id == loan.work.id }?.title ?? "", days: Int(loan.length))
            }
            return library
        }
    }

    /// What is left of a library that a file of that version had.
    static func expected(_ library: Library, from version: Int) -> Library {
        var library = library
        if version == 1 { for place in library.loans.indices { library.loans[place].days = 14 } }
        return library
    }
}
