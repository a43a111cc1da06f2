import Dispatch
import Foundation
import GraphMapperStore
import Observation
import Testing

@available(macOS 14, iOS 17, *)
@MainActor final class Note {
    let id: Int
    var title: String
    weak var folder: Folder?
    init(id: Int, title: String) {
        self.id = id
        self.title = title
    }
}

@available(macOS 14, iOS 17, *)
@MainActor @Observable final class Folder {
    let id: Int
    var name = ""
    var notes: [Note] = []
    init(id: Int) { self.id = id }
}

/// Given its note when it is made.
@available(macOS 14, iOS 17, *)
@MainActor final class Badge {
    let id: Int
    unowned let note: Note
    init(id: Int, note: Note) {
        self.id = id
        self.note = note
    }
}

@available(macOS 14, iOS 17, *)
struct NoteRecord: StoredRecord {
    typealias Model = Note
    let id: Int
    let title: String
    let folder: Ref<FolderRecord>?
    static let schema = Schema<Self>("note") { row in
        try Self(id: row("id", \.id), title: row("title", \.title), folder: row("folder", \.folder))
    }
    @MainActor static let mapping = Mapping<Self> { record in
        Note(id: record.id, title: record.title)
    } properties: {
        Field(\.id, \.id)
        Field(\.title, \.title)
        Back(\.folder, \.folder)
    }
}

@available(macOS 14, iOS 17, *)
struct FolderRecord: StoredRecord {
    typealias Model = Folder
    let id: Int
    let name: String
    static let schema = Schema<Self>("folder") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    @MainActor static let mapping = Mapping<Self> { record in
        Folder(id: record.id)
    } properties: {
        Field(\.id, \.id)
        Field(\.name, \.name)
        Many(NoteRecord.self, by: \.folder, \.notes)
    }
}

@available(macOS 14, iOS 17, *)
struct BadgeRecord: StoredRecord {
    typealias Model = Badge
    let id: Int
    let note: Ref<NoteRecord>
    static let schema = Schema<Self>("badge") { row in try Self(id: row("id", \.id), note: row("note", \.note)) }
    @MainActor static let mapping = Mapping<Self>(needing: \.note) { record, note in
        Badge(id: record.id, note: note)
    } properties: {
        Field(\.id, \.id)
        One(\.note, \.note)
    }
}

@MainActor @Suite struct `Main-actor models` {
    @available(macOS 14, iOS 17, *)
    func open() async throws -> (GraphStore, GraphSession) {
        let store = try await GraphStore.open(.inMemory, FolderRecord.self, NoteRecord.self, BadgeRecord.self)
        return (store, session(store))
    }

    @available(macOS 14, iOS 17, *)
    func session(_ store: GraphStore) -> GraphSession {
        GraphSession(store, FolderRecord.mapping, NoteRecord.mapping, BadgeRecord.mapping)
    }

    @available(macOS 14, iOS 17, *)
    @Test func `load, edit and save as plain models do`() async throws {
        let (store, first) = try await open()
        let folder = Folder(id: 1)
        folder.name = "inbox"
        let note = Note(id: 1, title: "milk")
        folder.notes = [note, Note(id: 2, title: "bread")]
        try first.add(folder)
        try first.add(Badge(id: 7, note: note))
        try await first.save()

        let second = session(store)
        let badge = try #require(try await second.find(BadgeRecord.self, 7))
        #expect(badge.note.folder?.name == "inbox")
        #expect(badge.note.folder?.notes.first === badge.note)
        #expect(try await second.save().isEmpty)
        badge.note.title = "oat milk"
        #expect(try await second.save().changes.count == 1)
    }

    @available(macOS 14, iOS 17, *)
    @Test func `a child taken out of its parent has its key set to NULL`() async throws {
        let (store, session) = try await open()
        let folder = Folder(id: 1)
        folder.notes = [Note(id: 1, title: "a"), Note(id: 2, title: "b")]
        try session.add(folder)
        try await session.save()
        folder.notes.removeFirst()
        try await session.save()
        #expect(try await store.find(NoteRecord.self, 1)?.folder == nil)
        #expect(try await store.find(NoteRecord.self, 2)?.folder == Ref(1))
    }

    @available(macOS 14, iOS 17, *)
    @Test func `a child moved to another parent follows`() async throws {
        let (store, first) = try await open()
        for id in [1, 2] { try first.add(Folder(id: id)) }
        try await first.save()
        try await store.write { try await $0.insert(NoteRecord(id: 5, title: "x", folder: Ref(1))) }
        let session = session(store)
        let folders = try await session.models(Query(FolderRecord.self).sorted(by: \.id))
        folders[1].notes.append(folders[0].notes.removeFirst())
        #expect(try await session.save().changes.count == 1)
        #expect(try await store.find(NoteRecord.self, 5)?.folder == Ref(2))
        #expect(try await session.save().isEmpty)
    }
}

/// Notes whether it is made and set on the main actor, whose queue is marked.
@MainActor private final class Witness {
    static let mark = DispatchSpecificKey<Bool>()
    static var isOnMain: Bool { DispatchQueue.getSpecific(key: mark) == true }

    let id: Int
    let wasMadeOnMain = isOnMain
    private(set) var wasSetOnMain = true
    var name = "" { didSet { if !Self.isOnMain { wasSetOnMain = false } } }
    init(id: Int) { self.id = id }
}

private struct WitnessRecord: StoredRecord {
    typealias Model = Witness
    let id: Int
    let name: String
    static let schema = Schema<Self>("witness") { row in try Self(id: row("id", \.id), name: row("name", \.name)) }
    @MainActor static let mapping = Mapping<Self> {
        Witness(id: $0.id)
    } properties: {
        Field(\.id, \.id)
        Field(\.name, \.name)
    }
}

@MainActor @Suite struct `A session of the main actor` {
    @Test(arguments: [true, false]) func `touches its models there, and nowhere else`(isFile: Bool) async throws {
        DispatchQueue.main.setSpecific(key: Witness.mark, value: true)
        let file = try Scratch.file()
        let store = try await GraphStore.open(isFile ? .file(file) : .inMemory, WitnessRecord.self)
        try await store.write { try await $0.insert(WitnessRecord(id: 1, name: "old")) }
        let session = GraphSession(store, WitnessRecord.mapping)
        let witness = try #require(try await session.first(Query(WitnessRecord.self)))
        #expect(witness.wasMadeOnMain && witness.wasSetOnMain)
        try await store.write { try await $0.upsert(WitnessRecord(id: 1, name: "new")) }
        try await session.refresh()
        #expect(witness.name == "new" && witness.wasSetOnMain)
        try await store.write { tx in
            try await tx.upsert(WitnessRecord(id: 1, name: "newer"))
            _ = try session.models(Query(WitnessRecord.self), in: tx)
        }
        #expect(witness.name == "newer" && witness.wasSetOnMain)
    }

    @Test(arguments: [true, false]) func `asks its policies there, too`(isFile: Bool) async throws {
        DispatchQueue.main.setSpecific(key: Witness.mark, value: true)
        let file = try Scratch.file()
        let store = try await GraphStore.open(isFile ? .file(file) : .inMemory, WitnessRecord.self)
        try await store.write { try await $0.insert(WitnessRecord(id: 1, name: "old")) }
        let session = GraphSession(store, WitnessRecord.mapping)
        let witness = try #require(try await session.first(Query(WitnessRecord.self)))
        try await store.write { tx in
            try await tx.upsert(WitnessRecord(id: 1, name: "theirs"))
            try await tx.insert(WitnessRecord(id: 2, name: "theirs"))
        }
        witness.name = "mine"
        var answers: [Bool] = []
        let policy = ConflictPolicy.merge { _ in
            answers.append(Witness.isOnMain)
            return .theirs
        }
        try await session.save(onConflict: policy)
        let added = Witness(id: 2)
        added.name = "mine"
        try session.add(added)
        try await session.save(onConflict: policy)
        #expect(answers == [true, true])
        #expect(witness.name == "theirs" && added.name == "theirs" && witness.wasSetOnMain && added.wasSetOnMain)
    }
}
