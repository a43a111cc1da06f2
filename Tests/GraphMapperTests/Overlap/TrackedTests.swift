import GraphMapper
import GraphMapperStore
import Observation
import Testing

@available(macOS 14, iOS 17, *)
@Observable private final class TypedMemo {
    let id: Int
    var text = ""
    var others: [TypedMemo] = []
    init(id: Int) { self.id = id }
}
@available(macOS 14, iOS 17, *)
private struct TypedMemoRow: StoredRecord {
    typealias Model = TypedMemo
    let id: Int
    var text = ""
    var others: [Ref<TypedMemoRow>] = []
    static let schema = Schema<Self>("memo") { row in
        try Self(id: row("id", \.id), text: row("text", \.text), others: row("others", \.others))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            TypedMemo(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.text, \.text)
            Many(\.others, \.others)
        }
    }
}

/// How a save is undone.
private enum UndoneSave: CaseIterable, Sendable { case write, savepoint, ownSavepoint, failure, secondTime }

@Suite @MainActor struct `Edits of saves that are undone` {
    @available(macOS 14, iOS 17, *)
    private func undo(_ how: UndoneSave, _ store: GraphStore, _ session: GraphSession, _ waiting: WaitingStore)
        async throws
    {
        switch how {
        case .write, .secondTime:
            for _ in 0..<(how == .write ? 1 : 2) {
                await #expect(throws: Undone.self) {
                    try await store.write { tx in
                        #expect(try await !session.save(only: .edited, in: tx).isEmpty)
                        throw Undone()
                    }
                }
            }
        case .savepoint:
            try await store.write { tx in
                await #expect(throws: Undone.self) {
                    try await tx.savepoint {
                        #expect(try await !session.save(only: .edited, in: tx).isEmpty)
                        throw Undone()
                    }
                }
            }
        case .ownSavepoint:
            await #expect(throws: Undone.self) {
                try await session.savepoint {
                    #expect(try await !session.save(only: .edited).isEmpty)
                    throw Undone()
                }
            }
        case .failure:
            await #expect(throws: Undone.self) {
                try await waiting.whileWaiting(.commit, failingWith: Undone()) {
                    try await session.save(only: .edited)
                } edits: {
                }
            }
        }
    }

    @Test(arguments: UndoneSave.allCases, [false, true])
    private func `are saved by the next save of what is edited`(how: UndoneSave, isTracked: Bool) async throws {
        guard #available(macOS 14, iOS 17, *) else { return }
        for (retention, isList) in [(Retention.strong, false), (.strong, true), (.weak, false), (.weak, true)] {
            let store = try await GraphStore.open(.inMemory, TypedMemoRow.self)
            try await store.write { tx in
                for id in 0...2 { try await tx.insert(TypedMemoRow(id: id, text: "base")) }
            }
            let waiting = WaitingStore(store)
            let session = GraphSession(
                waiting, [isTracked ? TypedMemoRow.mapping.tracked : TypedMemoRow.mapping], retention: retention)
            let memos = try await session.models(Query(TypedMemoRow.self).sorted(by: \.id))
            if isList { memos[0].others = [memos[1]] } else { memos[0].text = "mine" }
            if !isTracked { try session.edit(memos[0]) }
            try await undo(how, store, session, waiting)
            #expect(isList ? memos[0].others.map(\.id) == [1] : memos[0].text == "mine")
            #expect(try await session.save(only: .edited).changes.count == 1, "\(retention), \(isList)")
            let row = try #require(try await store.find(TypedMemoRow.self, 0))
            #expect(isList ? row.others.map(\.id) == [1] : row.text == "mine")
            #expect(try await session.save().isEmpty)
            // The next edit is seen, too.
            memos[0].text = "again"
            if !isTracked { try session.edit(memos[0]) }
            #expect(try await session.save(only: .edited).changes.count == 1)
        }
    }

    /// An edit inside of what is undone is gone; one after it is seen.
    @Test(arguments: [false, true]) func `what is edited after a save that was undone is seen`(isTracked: Bool)
        async throws
    {
        guard #available(macOS 14, iOS 17, *) else { return }
        let store = try await GraphStore.open(.inMemory, TypedMemoRow.self)
        try await store.write { try await $0.insert(TypedMemoRow(id: 0, text: "base")) }
        let session = GraphSession(store, isTracked ? TypedMemoRow.mapping.tracked : TypedMemoRow.mapping)
        let memo = try #require(try await session.find(TypedMemoRow.self, 0))
        await #expect(throws: Undone.self) {
            try await session.savepoint {
                memo.text = "inside"
                if !isTracked { try session.edit(memo) }
                try await session.save(only: .edited)
                throw Undone()
            }
        }
        #expect(memo.text == "base")
        #expect(try await session.save(only: .edited).isEmpty)
        memo.text = "after"
        if !isTracked { try session.edit(memo) }
        #expect(try await session.save(only: .edited).changes.count == 1)
        #expect(try await store.find(TypedMemoRow.self, 0)?.text == "after")
    }
}
