import GraphMapperTesting

/// What an app does in one of two sessions, or beside them; the numbers stand for whichever objects are there.
struct OverlapCommand: Sendable, CustomStringConvertible {
    enum Kind: Int, CaseIterable, Sendable {
        // Edits.
        case stageName, stageNote, append, remove, move, toggle, lead, propName, dancerName, dancerStage, addDancer
        // What reads and writes.
        case save, saveEdited, load, merge, rollBack, writeBeside
        // What other commands run inside of.
        case savepoint, transaction, waitForSave, waitForLoad, waitForSavepoint

        static let edits = Array(allCases[...Kind.addDancer.rawValue])
        static let simple = Array(allCases[...Kind.writeBeside.rawValue])
    }

    let side: Int
    let kind: Kind
    let one: Int
    let two: Int
    var inner: [OverlapCommand] = []

    var description: String { "\(side).\(kind)(\(one), \(two))\(inner.isEmpty ? "" : " \(inner)")" }

    static func gen(_ kinds: [Kind]) -> Gen<OverlapCommand> {
        Gen<Int>.int(in: 0...1).zip(.element(of: kinds)).zip(Gen<Int>.int(in: 0...11).zip(.int(in: 0...5))).map {
            OverlapCommand(side: $0.0, kind: $0.1, one: $1.0, two: $1.1)
        }
    }

    static let any = Gen.frequency((6, gen(Kind.edits)), (5, gen(Kind.allCases)))
        .zip(.array(of: .frequency((2, gen(Kind.edits)), (1, gen(Kind.simple))), count: 1...4)).map { command, inner in
            var command = command
            if command.kind.rawValue > Kind.writeBeside.rawValue { command.inner = inner }
            return command
        }
}
