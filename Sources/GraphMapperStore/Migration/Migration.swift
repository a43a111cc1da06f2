/// One step from a version of the schema to the next: named, and run in a transaction of its own.
///
/// ```swift
/// options.migrations = [
///     Migration("people have an age") { try await $0.add("age", Int.self, to: "person", default: 0) },
///     Migration("one name becomes two") { try await $0.transform(OldPerson.self, to: PersonRecord.self) { … } },
/// ]
/// ```
///
/// A file's version is the number of steps that it has taken; a new file is made as the records are, and has taken all.
/// So steps are only ever added, at the end. A step that throws is rolled back, and the file stays at the version before.
public struct Migration: Sendable {
    /// What the file remembers the step by.
    public let name: String
    let body: @Sendable (MigrationStep) async throws -> Void

    /// A step.
    ///
    /// - Parameters:
    ///   - name: unlike those of other steps. It must not change once files have taken the step.
    ///   - body: what makes the tables of the version before into those of the next. Tables and indexes that the records
    ///     add need no mention: opening makes them.
    public init(_ name: String, _ body: @escaping @Sendable (MigrationStep) async throws -> Void) {
        self.name = name
        self.body = body
    }
}

/// What a migration would do.
public struct MigrationPlan: Sendable, CustomStringConvertible {
    /// One step, and the statements it ran.
    public struct Step: Sendable {
        /// The step's name; that of the last, which makes new tables and indexes, is empty.
        public let name: String
        /// The statements in their order, with `?` for each value. One that runs many times in a row is here once.
        public let statements: [String]
    }

    /// The version that the file has.
    public let version: Int
    /// The steps that it has yet to take.
    public let steps: [Step]
    /// The steps and their statements, one a line.
    public var description: String {
        steps.flatMap { step in
            [step.name.isEmpty ? "tables and indexes" : step.name] + step.statements.map { "    \($0)" }
        }.joined(separator: "\n")
    }
}
