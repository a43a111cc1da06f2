import Testing

/// The same for a class of 25 properties with links: a mistake is named on its line, and quickly.
@Suite struct `What a wide class costs the compiler` {
    private typealias Wide = `What a wide record costs the compiler`

    /// - Parameters:
    ///   - reads: lines of the schema that differ, by property.
    ///   - entries: entries of the mapping that differ, by property.
    private static func source(reads: [String: String] = [:], entries: [String: String] = [:]) -> String {
        let properties = Wide.columns.map { column in
            let blank = ["Int": "0", "Double": "0", "String": "\"\""][column.stored] ?? "nil"
            return "    var \(column.name): \(column.stored) = \(blank)"
        }
        let model = Wide.columns.map { "    var \($0.name): \($0.model) = \($0.initial)" }
        let lines = Wide.columns.map { "        \(reads[$0.name] ?? "row(\"\($0.name)\", \\.\($0.name))")" }
        let fields = Wide.columns.map { "        \(entries[$0.name] ?? Wide.entry($0))" }
        return """
            import Foundation
            import GraphMapper
            enum Kind: String { case small, large }
            final class Wide {
                let id: UUID
            \(model.joined(separator: "\n"))
                var next: Wide?
                weak var owner: Wide?
                var items: [Wide] = []
                init(id: UUID) { self.id = id }
            }
            final class Items: RandomAccessCollection, RangeReplaceableCollection {
                private var array: [WideObject] = []
                var startIndex: Int { 0 }
                var endIndex: Int { array.count }
                subscript(index: Int) -> WideObject { array[index] }
                func replaceSubrange<C: Collection>(_ range: Range<Int>, with new: C) where C.Element == WideObject {
                    array.replaceSubrange(range, with: new)
                }
            }
            class WideObject: Identifiable {
                var id = UUID()
            \(properties.joined(separator: "\n"))
                let fixed = 0
                var next: WideObject?
                weak var owner: WideObject?
                let items = Items()
            }
            extension WideObject: DTO {
                typealias Model = Wide
                typealias Row = WideObject
                static let schema = Schema<WideObject>("wide", WideObject.init) { row in
                    row("id", \\.id)
            \(lines.joined(separator: "\n"))
                    \(reads["next"] ?? "row.one(\"next\", \\.next)")
                    row.one("owner", \\.owner)
                    \(reads["items"] ?? "row.many(\"items\", \\.items)")
                }
                static var mapping: Mapping<WideObject> {
                    Mapping { object in Wide(id: object.id) } properties: {
                    Field(\\.id, \\.id)
            \(fields.joined(separator: "\n"))
                    \(entries["next"] ?? "One(\\.next, \\.next)")
                    Back(\\.owner, \\.owner)
                    \(entries["items"] ?? "Many(WideObject.self, in: \\.items, \\.items)")
                    }
                }
            }
            """
    }

    @Test func `a class of 25 properties compiles quickly`() throws {
        #expect(try Wide().compile("wide class", Self.source()) == [])
    }

    struct Mistake: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let property: String
        let line: String
        /// What the message must say, besides pointing to the line.
        let says: String
    }

    @Test(arguments: [
        Mistake(testDescription: "misspelt", property: "p13", line: "row(\"p13\", \\.p13x)", says: "no member 'p13x'"),
        Mistake(testDescription: "a let", property: "p13", line: "row(\"p13\", \\.fixed)", says: "KeyPath"),
        Mistake(testDescription: "a link", property: "p13", line: "row(\"p13\", \\.next)", says: "WideObject"),
        Mistake(testDescription: "misspelt link", property: "next", line: "row.one(\"next\", \\.nxt)", says: "'nxt'"),
        Mistake(testDescription: "a list as one", property: "next", line: "row.one(\"next\", \\.items)", says: "Items"),
        Mistake(
            testDescription: "one as a list", property: "items", line: "row.many(\"i\", \\.next)", says: "WideObject"),
    ])
    func `a mistake in the schema is named`(mistake: Mistake) throws {
        let errors = try Wide().compile(
            "class schema, \(mistake.testDescription)", Self.source(reads: [mistake.property: mistake.line]))
        let isNamed = errors.contains { $0.contains(mistake.says) && $0.hasSuffix("| \(mistake.line)") }
        #expect(isNamed, "\(errors)")
    }

    @Test(arguments: [
        Mistake(
            testDescription: "misspelt in the class", property: "p13", line: "Field(\\.p13x, \\.p13)",
            says: "no member 'p13x'"),
        Mistake(
            testDescription: "misspelt in the model", property: "p13", line: "Field(\\.p13, \\.p13x)",
            says: "no member 'p13x'"),
        Mistake(testDescription: "swapped types", property: "p13", line: "Field(\\.p13, \\.p12)", says: "Int"),
        Mistake(testDescription: "misspelt link", property: "next", line: "One(\\.nxt, \\.next)", says: "'nxt'"),
        Mistake(testDescription: "a list as one", property: "next", line: "One(\\.items, \\.next)", says: "Items"),
        Mistake(
            testDescription: "a list as an array", property: "items", line: "Many(\\.items, \\.items)",
            says: "no exact matches"),
        Mistake(
            testDescription: "one as a list", property: "items", line: "Many(WideObject.self, in: \\.next, \\.items)",
            says: "WideObject"),
    ])
    func `a mistake in the mapping is named`(mistake: Mistake) throws {
        let errors = try Wide().compile(
            "class mapping, \(mistake.testDescription)", Self.source(entries: [mistake.property: mistake.line]))
        let isNamed = errors.contains { $0.contains(mistake.says) && $0.hasSuffix("| \(mistake.line)") }
        #expect(isNamed, "\(errors)")
    }
}
