import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

private struct Word: StoredRecord {
    let id: Int
    let text: String
    let other: String?
    let tags: [String]
    static let schema = Schema<Self>("word") { row in
        try Self(
            id: row("id", \.id), text: row("text", \.text), other: row("other", \.other), tags: row("tags", \.tags))
    }
    static let indexes: [Index<Self>] = [.on(\.text)]
}

@Suite struct `Texts in #Predicate` {
    private static let texts = [
        "", "a", "café", "cafe\u{301}", "cafe", "K", "\u{212A}", "\u{212B}", "\u{C5}", "A\u{30A}", "\r\n", "\n",
        "a\r\nb",
        "e\u{301}", "\u{301}", "ab\u{0}c", ";", "\u{37E}", "👨‍👩‍👧", "👨", "B", "\u{1100}\u{1161}", "\u{AC00}", "z",
    ]

    @Test func `are compared as Foundation does`() async throws {
        guard #available(macOS 14, iOS 17, *) else { return }
        let store = try await GraphStore.open(.inMemory, Word.self)
        let texts = Self.texts
        let words = texts.enumerated().map { index, text in
            Word(
                id: index, text: text, other: index % 5 == 0 ? nil : texts[texts.count - 1 - index],
                tags: [text, texts[(index + 1) % texts.count]])
        }
        try await store.write { try await $0.insert(contentsOf: words) }
        for text in texts {
            let (list, optional) = ([text, "B"], text as String?)
            let optionals = [text, nil] as [String?]
            let predicates: [(String, Predicate<Word>)] = [
                ("==", #Predicate { $0.text == text }), ("!=", #Predicate { $0.text != text }),
                ("==?", #Predicate { $0.other == text }), ("!=?", #Predicate { $0.other != optional }),
                ("==columns", #Predicate { $0.text == ($0.other ?? "K") }),
                ("!=columns", #Predicate { $0.text != ($0.other ?? "K") }),
                ("??", #Predicate { ($0.other ?? "K") == text }), ("<", #Predicate { $0.text < text }),
                (">=", #Predicate { $0.text >= text }), ("contains", #Predicate { $0.text.contains(text) }),
                ("starts", #Predicate { $0.text.starts(with: text) }), ("list", #Predicate { list.contains($0.text) }),
                ("list?", #Predicate { optionals.contains($0.other) }), ("tags", #Predicate { $0.tags.contains(text) }),
                ("empty", #Predicate { $0.text.isEmpty }),
            ]
            for (what, predicate) in predicates {
                let found = try await store.fetch(Query(Word.self).where(predicate).sorted(by: \.id)).map(\.id)
                let wanted = try words.filter { try predicate.evaluate($0) }.map(\.id)
                #expect(found == wanted, "\(what) \(text.debugDescription)")
            }
        }
    }

    @Test func `an index still finds plain texts`() async throws {
        guard #available(macOS 14, iOS 17, *) else { return }
        let store = try await GraphStore.open(.inMemory, Word.self)
        for predicate in [
            #Predicate<Word> { $0.text == "hoon" }, #Predicate<Word> { $0.text.starts(with: "ho") },
            #Predicate<Word> { $0.text == "Kim" },
        ] {
            let plan = try await store.explain(Query(Word.self).where(predicate))
            #expect(plan.warnings.isEmpty, "\(plan)")
        }
    }
}
