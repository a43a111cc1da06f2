import Testing

/// A wide record, and a long filter: the compiler stays quick, and a mistake is named, not "too complex".
@Suite struct `What a wide record costs the compiler` {
    /// What an entry of the wide record is: of five kinds in turn.
    struct Column {
        let name: String
        let stored: String
        let model: String
        let initial: String
        var conversion = ""
    }

    static let columns: [Column] = (1...24).map { number in
        let name = "p\(number)"
        return switch number % 6 {
        case 0: Column(name: name, stored: "Int", model: "Int", initial: "0")
        case 1: Column(name: name, stored: "String", model: "String", initial: "\"\"")
        case 2: Column(name: name, stored: "String?", model: "URL?", initial: "nil", conversion: ".url")
        case 3: Column(name: name, stored: "Double", model: "Date", initial: "Date()", conversion: ".epoch")
        case 4: Column(name: name, stored: "Bool?", model: "Bool?", initial: "nil")
        default: Column(name: name, stored: "String", model: "Kind", initial: ".small", conversion: ".rawValue")
        }
    }

    static func entry(_ column: Column) -> String {
        let conversion = column.conversion.isEmpty ? "" : ", using: \(column.conversion)"
        return "Field(\\.\(column.name), \\.\(column.name)\(conversion))"
    }

    /// A record of 25 properties, its model and its mapping.
    ///
    /// - Parameters:
    ///   - forgotten: a property that the schema does not read.
    ///   - entries: entries of the mapping that differ, by property.
    ///   - isTristate: whether a property may be unset.
    static func source(
        forgotten: String = "", entries: [String: String] = [:], use: String = "", isTristate: Bool = false
    ) -> String {
        let stored = columns.map { column in
            let type = column.stored.replacingOccurrences(of: "?", with: "")
            return "    let \(column.name): \(isTristate ? "Tristate<\(type)>" : column.stored)"
        }
        let model = columns.map { "    var \($0.name): \($0.model) = \($0.initial)" }
        let reads = (["id"] + columns.map(\.name)).filter { $0 != forgotten }
            .map { "            \($0): row(\"\($0)\", \\.\($0))" }
        let fields = columns.map { "        \(entries[$0.name] ?? entry($0))" }
        return """
            import Foundation
            import GraphMapperStore
            enum Kind: String { case small, large }
            final class Wide {
                let id: UUID
            \(model.joined(separator: "\n"))
                init(id: UUID) { self.id = id }
            }
            struct WideRecord: StoredRecord {
                typealias Model = Wide
                let id: UUID
            \(stored.joined(separator: "\n"))
                static let schema = Schema<Self>("wide") { row in
                    try Self(
            \(reads.joined(separator: ",\n")))
                }
                static var mapping: Mapping<Self> {
                    Mapping { record in Wide(id: record.id) } properties: {
                    Field(\\.id, \\.id)
            \(fields.joined(separator: "\n"))
                    }
                }
            }
            \(use)
            """
    }

    /// Compiles, prints how long it took, and expects no expression to take the type-checker more than `limit` scopes
    /// of its solver: a measure of its work that does not depend on the machine (2 000 take well under 0.5 s).
    ///
    /// - Returns: each message, and the line of the source that it points to.
    func compile(_ name: String, _ source: String, limit: Int = 2_000) throws -> [String] {
        var text = ""
        let time = try ContinuousClock().measure {
            text = try Compiler.compile(
                source, "wide",
                flags: ["-Xfrontend", "-solver-scope-threshold=\(limit)"])
        }
        print("compiled in \(time.formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 2)))): \(name)")
        #expect(!text.contains("took") && !text.contains("reasonable time"), "\(name): \(text)")
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        return text.split(separator: "\n").compactMap { message in
            let parts = message.split(separator: ":")
            guard message.hasPrefix("/"), parts.count > 3, let line = Int(parts[1]) else { return nil }
            guard lines.indices.contains(line - 1) else { return String(message) }
            return parts[3...].joined(separator: ":") + " | " + lines[line - 1].drop { $0 == " " }
        }
    }

    @Test func `25 properties compile quickly`() throws {
        #expect(try compile("25 properties", Self.source()) == [])
    }

    @Test func `25 properties that may be unset compile quickly`() throws {
        #expect(try compile("25 tristate properties", Self.source(isTristate: true)) == [])
        let entries = ["p13": "Field(\\.p13, \\.p12)"]
        let errors = try compile("swapped tristate", Self.source(entries: entries, isTristate: true))
        #expect(errors.count == 1 && errors[0].contains("Int") && errors[0].hasSuffix("| Field(\\.p13, \\.p12)"))
    }

    @Test func `a forgotten property is named`() throws {
        let errors = try compile("forgotten", Self.source(forgotten: "p13"))
        #expect(errors.count == 1 && errors[0].contains("missing argument for parameter 'p13'"), "\(errors)")
    }

    struct Mistake: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let property: String
        let entry: String
        /// What the message must say, besides pointing to the entry's line.
        let says: String
    }

    @Test(arguments: [
        Mistake(
            testDescription: "misspelt in the record", property: "p13", entry: "Field(\\.p13x, \\.p13)",
            says: "has no member 'p13x'"),
        Mistake(
            testDescription: "misspelt in the model", property: "p13", entry: "Field(\\.p13, \\.p13x)",
            says: "has no member 'p13x'"),
        Mistake(testDescription: "swapped types", property: "p13", entry: "Field(\\.p13, \\.p12)", says: "Int"),
        Mistake(testDescription: "no conversion", property: "p14", entry: "Field(\\.p14, \\.p14)", says: "URL"),
        Mistake(
            testDescription: "a conversion of another type", property: "p13",
            entry: "Field(\\.p13, \\.p13, using: .url)",
            says: "URL"),
        Mistake(
            testDescription: "a conversion that is not there", property: "p14",
            entry: "Field(\\.p14, \\.p14, using: .urll)", says: "has no member 'urll'"),
    ])
    func `a mistake in one entry of 25 is named`(mistake: Mistake) throws {
        let errors = try compile(
            mistake.testDescription, Self.source(entries: [mistake.property: mistake.entry]))
        let isNamed = errors.contains { $0.contains(mistake.says) && $0.hasSuffix("| \(mistake.entry)") }
        #expect(errors.count == 1 && isNamed, "\(errors)")
    }

    static let terms = [
        "$0.p1 == \"hoon\"", "$0.p6 > 18", "$0.p6 < 99", "$0.p2 == nil", "$0.p4 == true", "$0.p3 >= 0.5",
        "$0.p7.hasPrefix(\"a\")", "$0.p8 != \"x\"", "($0.p12 == 1 || $0.p12 == -1)", "!$0.p18.isIn([1, 2, 3])",
    ]

    static func filter(_ terms: [String], _ separator: String) -> String {
        source(
            use: """
                func query() -> Query<WideRecord> {
                    Query(WideRecord.self).where { \(terms.joined(separator: separator)) }
                }
                """)
    }

    @Test(arguments: ["; ", "\n&& "])
    func `ten terms compile quickly, right or with a mistake`(separator: String) throws {
        let how = separator == "; " ? "by line" : "by &&"
        let dear = separator == "; " ? 2_000 : 50_000
        #expect(try compile("ten terms \(how)", Self.filter(Self.terms, separator)) == [])

        var wrong = Self.terms
        wrong[6] = "$0.p7x.hasPrefix(\"a\")"
        let misspelt = try compile("ten terms \(how), misspelt", Self.filter(wrong, separator), limit: dear)
        #expect(misspelt.contains { $0.contains("p7x") }, "\(misspelt)")

        wrong = Self.terms
        wrong[1] = "$0.p6 > \"18\""
        let mistyped = try compile("ten terms \(how), mistyped", Self.filter(wrong, separator), limit: dear)
        #expect(mistyped.contains { $0.contains("the column's own type") && $0.contains("p6") }, "\(mistyped)")
    }

    /// The many `+` make this the dearest mistake: 1.3 s where a chain without it takes 0.5 s. By line it costs nothing.
    @Test func `arithmetic of literals in a chain with a mistake is dear, but the mistake is named`() throws {
        var terms = Self.terms
        terms[2] = "$0.p6 < 99 + 1"
        #expect(try compile("ten terms, arithmetic", Self.filter(terms, "\n&& ")) == [])
        terms[6] = "$0.p7x.hasPrefix(\"a\")"
        let errors = try compile("ten terms, arithmetic, misspelt", Self.filter(terms, "\n&& "), limit: 300_000)
        #expect(errors.count == 1 && errors[0].contains("p7x"), "\(errors)")
        let lines = try compile("ten lines, arithmetic, misspelt", Self.filter(terms, "; "))
        #expect(lines.count == 1 && lines[0].contains("p7x"), "\(lines)")
    }

    /// Links, lists, arithmetic and optionals, as the guide to queries has them.
    private static func linked(_ replaced: [Int: String] = [:]) throws -> String {
        let guide = try Compiler.sample("docs/queries.md")
        let records = guide.components(separatedBy: "func adults").first ?? ""
        var terms = [
            "$0.age.isIn(18...30)", "$0.nick == nil || $0.nick == \"x\"", "$0.age * 2 + 1 > $0.id",
            "($0.nick ?? \"none\") == $0.name", "$0.name.contains(\"muller\", .caseInsensitive)",
            "$0.team.name == \"blue\"", "$0.friends.any { $0.age < 18 }",
            "$0.friends.where { $0.age < 18 }.count > 2", "$0.friends.sum { $0.price } >= 100",
            "$0.tags.contains(\"captain\")",
        ]
        for (place, term) in replaced { terms[place] = term }
        return records + """

            func query() -> Query<PlayerRecord> {
                Query(PlayerRecord.self).where {
            \(terms.joined(separator: "\n"))
                }
            }
            """
    }

    /// None takes more than half a second.
    @Test func `ten terms through links and over lists compile quickly, right or with a mistake`() throws {
        #expect(try compile("ten linked terms", Self.linked()) == [])
        for (place, term, says, limit) in [
            (6, "$0.friends.any { $0.agee < 18 }", "'agee'", 2_000), (0, "$0.agee.isIn(18...30)", "'agee'", 2_000),
            (5, "$0.team.name == 5", "the column's own type", 8_000), (2, "$0.age * 2 + 1 > $0.idd", "'idd'", 50_000),
        ] {
            let errors = try compile("ten linked terms, \(term)", Self.linked([place: term]), limit: limit)
                .filter { $0.hasPrefix(" error") }
            #expect(errors.count == 1 && errors[0].contains(says) && errors[0].hasSuffix("| \(term)"), "\(errors)")
        }
    }
}
