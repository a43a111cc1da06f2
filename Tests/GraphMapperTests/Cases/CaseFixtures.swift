import Foundation
import GraphMapperStore

/// A small town of every kind of link: people, medals that need their owner, memos with a weak author, teams with
/// sets, trees, and two tables that need each other.
final class Person {
    let id: Int
    var name = ""
    var boss: Person?
    var medals: [Medal] = []
    var friend: Person?
    init(id: Int, name: String = "", boss: Person? = nil) {
        self.id = id
        self.name = name
        self.boss = boss
    }
}

final class Medal {
    var id: Int
    var title = ""
    unowned let owner: Person
    init(id: Int, owner: Person) {
        self.id = id
        self.owner = owner
    }
}

final class Memo {
    let id: Int
    weak var author: Person?
    var topics: [Topic] = []
    init(id: Int) { self.id = id }
}

final class Topic: Hashable {
    let id: Int
    var teamID: Int?
    var weight = 0
    weak var team: Team?
    init(id: Int) { self.id = id }
    static func == (left: Topic, right: Topic) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

final class Team {
    let id: Int
    var topics: Set<Topic> = []
    var leaderID: Int?
    init(id: Int) { self.id = id }
}

struct PersonRow: StoredRecord {
    typealias Model = Person
    let id: Int
    let name: String
    let boss: Ref<PersonRow>?
    let friend: Ref<PersonRow>?
    let secret: Int
    static let schema = Schema<Self>("person") { row in
        try Self(
            id: row("id", \.id), name: row("name", \.name), boss: row("boss", \.boss), friend: row("friend", \.friend),
            secret: row("secret", \.secret))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Person(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            One(\.boss, \.boss)
            One(\.friend, \.friend).onDemand
            Many(MedalRow.self, by: \.owner, \.medals)
            Unmapped(\.secret, initial: 7)
        }
    }
}

struct MedalRow: StoredRecord {
    typealias Model = Medal
    let id: Int
    let title: String
    let owner: Ref<PersonRow>
    static let schema = Schema<Self>("medal") { row in
        try Self(id: row("id", \.id), title: row("title", \.title), owner: row("owner", \.owner))
    }
    static var mapping: Mapping<Self> {
        Mapping(needing: \.owner) { dto, owner in
            Medal(id: dto.id, owner: owner)
        } properties: {
            Field(\.id, \.id)
            Field(\.title, \.title)
            Back(\.owner, \.owner)
        }
    }
}

struct MemoRow: StoredRecord {
    typealias Model = Memo
    let id: Int
    let author: Ref<PersonRow>?
    let topics: [Ref<TopicRow>]
    static let schema = Schema<Self>("memo") { row in
        try Self(id: row("id", \.id), author: row("author", \.author), topics: row("topics", \.topics))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Memo(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Back(\.author, \.author)
            Many(\.topics, \.topics)
        }
    }
}

struct TeamRow: StoredRecord {
    typealias Model = Team
    let id: Int
    let leader: Ref<PersonRow>?
    static let schema = Schema<Self>("team") { row in
        try Self(id: row("id", \.id), leader: row("leader", \.leader))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Team(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            ForeignKey(\.leader, \.leaderID)
            Many(TopicRow.self, by: \.team, \.topics)
        }
    }
}

struct TopicRow: StoredRecord {
    typealias Model = Topic
    let id: Int
    let weight: Int
    let team: Ref<TeamRow>
    static let schema = Schema<Self>("topic") { row in
        try Self(id: row("id", \.id), weight: row("weight", \.weight), team: row("team", \.team))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Topic(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.weight, \.weight)
            Back(\.team, \.team)
        }
    }
    static let indexes: [Index<Self>] = [.unique(\.weight)]
}

/// Two tables that need each other's rows.
final class Yin {
    let id: Int
    var yang: Yang?
    init(id: Int) { self.id = id }
}
final class Yang {
    let id: Int
    weak var yin: Yin?
    init(id: Int) { self.id = id }
}
struct YinRow: StoredRecord {
    typealias Model = Yin
    let id: Int
    let yang: Ref<YangRow>
    static let schema = Schema<Self>("yin") { row in try Self(id: row("id", \.id), yang: row("yang", \.yang)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Yin(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.yang, \.yang)
        }
    }
}
struct YangRow: StoredRecord {
    typealias Model = Yang
    let id: Int
    let yin: Ref<YinRow>
    static let schema = Schema<Self>("yang") { row in try Self(id: row("id", \.id), yin: row("yin", \.yin)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Yang(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            One(\.yin, \.yin)
        }
    }
}

/// Each needs the other to be made: impossible.
final class Egg {
    let id: Int
    let hen: Hen
    init(id: Int, hen: Hen) {
        self.id = id
        self.hen = hen
    }
}
final class Hen {
    let id: Int
    let egg: Egg
    init(id: Int, egg: Egg) {
        self.id = id
        self.egg = egg
    }
}
struct EggRow: DTO, Identifiable {
    typealias Model = Egg
    let id: Int
    let hen: Ref<HenRow>
    static let schema = Schema<Self>("egg") { row in try Self(id: row("id", \.id), hen: row("hen", \.hen)) }
    static var mapping: Mapping<Self> {
        Mapping(needing: \.hen) { dto, hen in
            Egg(id: dto.id, hen: hen)
        } properties: {
            Field(\.id, \.id)
            One(\.hen, \.hen)
        }
    }
}
struct HenRow: DTO, Identifiable {
    typealias Model = Hen
    let id: Int
    let egg: Ref<EggRow>
    static let schema = Schema<Self>("hen") { row in try Self(id: row("id", \.id), egg: row("egg", \.egg)) }
    static var mapping: Mapping<Self> {
        Mapping(needing: \.egg) { dto, egg in
            Hen(id: dto.id, egg: egg)
        } properties: {
            Field(\.id, \.id)
            One(\.egg, \.egg)
        }
    }
}

func openTown(
    _ location: GraphStore.Location = .inMemory, options: GraphStore.Options = .init()
) async throws -> GraphStore {
    try await GraphStore.open(
        location, options: options, PersonRow.self, MedalRow.self, MemoRow.self, TeamRow.self, TopicRow.self,
        YinRow.self, YangRow.self)
}

func townSession(_ store: GraphStore) -> GraphSession { townSession(store.backing) }

func townSession(_ backing: any GraphBacking) -> GraphSession {
    GraphSession(
        backing,
        [
            PersonRow.mapping, MedalRow.mapping, MemoRow.mapping, TeamRow.mapping, TopicRow.mapping, YinRow.mapping,
            YangRow.mapping,
        ])
}

/// A store whose transactions can be held up, so that a test can do something meanwhile.
struct Interrupted: GraphBacking {
    let store: GraphStore
    /// Called in the middle of each transaction.
    let meanwhile: () async throws -> Void

    func snapshot(_ body: (any GraphSource) async throws -> Void) async throws {
        try await store.backing.snapshot(body)
    }
    func transaction(_ body: (any ChangeSink) async throws -> Void) async throws {
        try await store.backing.transaction {
            try await body($0)
            try await meanwhile()
        }
    }
}
