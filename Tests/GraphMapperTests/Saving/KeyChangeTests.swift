import GraphMapperStore
import GraphMapperTesting
import Testing

/// A user whose name is the key, and what points to one in each way.
final class Member {
    var name: String
    var age = 0
    var best: Member?
    var friends: [Member] = []
    init(name: String) { self.name = name }
}
final class Account {
    let id: Int
    var member: String?
    init(id: Int) { self.id = id }
}
struct MemberRow: StoredRecord {
    typealias Model = Member
    var id: String { name }
    let name: String
    let age: Int
    let best: Ref<MemberRow>?
    let friends: [Ref<MemberRow>]
    static let schema = Schema<Self>("member") { row in
        try Self(
            name: row("name", \.name), age: row("age", \.age), best: row("best", \.best),
            friends: row("friends", \.friends))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Member(name: $0.name)
        } properties: {
            Field(\.name, \.name)
            Field(\.age, \.age)
            One(\.best, \.best)
            Many(\.friends, \.friends)
        }
    }
}
struct AccountRow: StoredRecord {
    typealias Model = Account
    let id: Int
    let member: Ref<MemberRow>?
    static let schema = Schema<Self>("account") { row in
        try Self(id: row("id", \.id), member: row("member", \.member))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Account(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            ForeignKey(\.member, \.member)
        }
    }
}

/// The same table with its key alone.
struct MemberName: StoredRecord {
    typealias Model = Member
    var id: String { name }
    let name: String
    static let schema = Schema<Self>("member") { row in try Self(name: row("name", \.name)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Member(name: $0.name)
        } properties: {
            Field(\.name, \.name)
        }
    }
}
extension Member: Hashable {
    static func == (left: Member, right: Member) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
final class Club {
    let id: Int
    var members: Set<Member> = []
    var names: [Member] = []
    var head: Member?
    init(id: Int) { self.id = id }
}
struct ClubRow: StoredRecord {
    typealias Model = Club
    let id: Int
    let members: Set<Ref<MemberRow>>
    let names: [Ref<MemberName>]
    let head: Ref<MemberName>?
    static let schema = Schema<Self>("club") { row in
        try Self(
            id: row("id", \.id), members: row("members", \.members), names: row("names", \.names),
            head: row("head", \.head))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Club(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Many(\.members, \.members)
            Many(\.names, \.names)
            One(\.head, \.head)
        }
    }
}

@Suite struct `An object gets another key` {
    private func opened() async throws -> (GraphStore, GraphSession, [Member], [Account]) {
        let store = try await GraphStore.open(.inMemory, MemberRow.self, AccountRow.self)
        try await store.write { tx in
            try await tx.insert(MemberRow(name: "jack", age: 1, best: nil, friends: [Ref("kim"), Ref("jack")]))
            try await tx.insert(MemberRow(name: "kim", age: 2, best: Ref("jack"), friends: [Ref("jack"), Ref("jack")]))
            try await tx.insert(MemberRow(name: "far", age: 3, best: Ref("jack"), friends: []))
            for id in 1...2 { try await tx.insert(AccountRow(id: id, member: id == 1 ? Ref("jack") : nil)) }
        }
        let session = GraphSession(store, MemberRow.mapping, AccountRow.mapping)
        let members = try await session.models(Query(MemberRow.self).where { $0.name != "far" }.sorted(by: \.name))
        let accounts = try await session.models(Query(AccountRow.self).sorted(by: \.id))
        return (store, session, members, accounts)
    }

    @Test func `the identity map and everything that points to it follow, loaded or not`() async throws {
        let (store, session, members, accounts) = try await opened()
        let jack = members[0]
        jack.age = 10
        accounts[1].member = "jack"
        try await session.changeKey(of: jack, to: "ed")
        #expect(jack.name == "ed" && accounts.map(\.member) == ["ed", "ed"])
        let statements = try await store.write { $0.statementCount }
        #expect(try await session.find(MemberRow.self, "ed") === jack)
        #expect(try await store.write { $0.statementCount } - statements == 2)
        #expect(try await session.find(MemberRow.self, "jack") == nil)
        // What was edited is still to be saved, and nothing else.
        #expect(try await session.save().changes.count == 2)
        #expect(try await session.save().isEmpty)
        #expect(try await store.find(MemberRow.self, "far")?.best == Ref("ed"))
        let kim = try #require(try await store.find(MemberRow.self, "kim"))
        #expect(kim.best == Ref("ed") && kim.friends == [Ref("ed"), Ref("ed")])
        #expect(try await store.find(MemberRow.self, "ed")?.age == 10)
        members[1].friends.removeLast()
        members[0].friends.swapAt(0, 1)
        #expect(try await session.save().changes.count == 2)
        #expect(try await store.find(MemberRow.self, "ed")?.friends == [Ref("ed"), Ref("kim")])
        try await session.refresh()
        #expect(try session.changes().isEmpty)
    }

    @Test func `sets follow, and links to either record type of the table`() async throws {
        let store = try await GraphStore.open(.inMemory, MemberRow.self, MemberName.self, ClubRow.self)
        try await store.write { tx in
            for name in ["ann", "bob"] { try await tx.insert(MemberRow(name: name, age: 0, best: nil, friends: [])) }
            try await tx.insert(
                ClubRow(id: 1, members: [Ref("ann"), Ref("bob")], names: [Ref("ann"), Ref("ann")], head: Ref("ann")))
        }
        for mappings in [
            [MemberName.mapping, MemberRow.mapping, ClubRow.mapping] as [any AnyMapping],
            [MemberRow.mapping, MemberName.mapping, ClubRow.mapping],
        ] {
            let session = GraphSession(store, mappings)
            let club = try #require(try await session.find(ClubRow.self, 1))
            let head = try #require(club.head)
            let name = head.name + "z"
            try await session.changeKey(of: head, to: name)
            #expect(try session.changes().isEmpty)
            (club.members, club.names, club.head) = ([], [], nil)
            try session.rollback()
            #expect(Set(club.members.map(\.name)) == [name, "bob"] && club.names.map(\.name) == [name, name])
            #expect(club.head === head)
            club.members.remove(head)
            try await session.save()
            #expect(try await store.find(ClubRow.self, 1)?.members == [Ref("bob")])
            club.members.insert(head)
            try await session.save()
        }
    }

    @Test func `a savepoint undoes it`() async throws {
        struct Stop: Error {}
        let (store, session, members, accounts) = try await opened()
        await #expect(throws: Stop.self) {
            try await session.savepoint {
                try await session.changeKey(of: members[0], to: "ed")
                members[0].age = 5
                try await session.save()
                throw Stop()
            }
        }
        #expect(members[0].name == "jack" && members[0].age == 1 && accounts[0].member == "jack")
        #expect(try session.changes().isEmpty)
        #expect(try await session.find(MemberRow.self, "jack") === members[0])
        #expect(try await store.find(MemberRow.self, "ed") == nil)
    }

    @Test func `a key that is taken, a row that is gone, an id that is a let, an id of another type`() async throws {
        let (store, session, members, accounts) = try await opened()
        var error = await #expect(throws: GraphError.self) { try await session.changeKey(of: members[0], to: "kim") }
        #expect(error?.kind == .conflict)
        let taken = await #expect(throws: StoreError.self) { try await session.changeKey(of: members[0], to: "far") }
        #expect(taken?.kind == .duplicateKey && members[0].name == "jack")
        error = await #expect(throws: GraphError.self) { try await session.changeKey(of: accounts[0], to: 7) }
        #expect(error?.kind == .misuse && error?.message.contains("var") == true)
        error = await #expect(throws: GraphError.self) { try await session.changeKey(of: members[0], to: 7) }
        #expect(error?.kind == .misuse)
        try await store.write { tx in
            try await tx.execute("DELETE FROM member_friends")
            try await tx.execute("DELETE FROM account")
            try await tx.execute("DELETE FROM member_friends")
            try await tx.execute("UPDATE member SET best = NULL")
            _ = try await tx.delete(MemberRow.self, "jack")
        }
        error = await #expect(throws: GraphError.self) { try await session.changeKey(of: members[0], to: "ed") }
        #expect(error?.kind == .conflict && members[0].name == "jack")
        let new = Member(name: "new")
        try session.add(new)
        try await session.changeKey(of: new, to: "newer")
        #expect(new.name == "newer")
    }
}
