import Foundation

/// What an integrity check found.
public struct IntegrityReport: Sendable, Hashable, CustomStringConvertible {
    /// What is damaged, in the engine's words, at most a hundred sentences.
    public let damages: [String]
    /// Links to rows that are not there: `cart.user_id of row 7 points to no user`.
    public let danglingLinks: [String]

    /// Whether nothing is wrong.
    public var isSound: Bool { damages.isEmpty && danglingLinks.isEmpty }
    /// The findings, one a line.
    public var description: String {
        isSound ? "the file is sound" : (damages + danglingLinks).joined(separator: "\n")
    }
}

extension GraphStore {
    /// Copies the store as it is now to a new file, while others read and write on. The file appears when it is whole.
    ///
    /// - Parameters:
    ///   - path: where no file is yet.
    ///   - progress: what part is copied, from 0 to 1; called now and then.
    /// - Throws: ``StoreError`` if there is a file at the path, or it cannot be written; `CancellationError` if the task
    ///   is cancelled. Then there is no file.
    /// - Complexity: O(size of the file).
    public func backup(to path: String, progress: (Double) -> Void = { _ in }) async throws {
        let path = try FilePath.checked(path)
        guard !FileManager.default.fileExists(atPath: path) else {
            throw StoreError(.cannotOpen, "there is a file at \(path); remove it, or choose another path")
        }
        try await read { transaction in
            try transaction.connection.beginSnapshot()
            try await Self.copy(transaction.connection, to: path, progress)
        }
    }

    /// Copies to a file that appears when it is whole.
    private static func copy(_ source: Connection, to path: String, _ progress: (Double) -> Void) async throws {
        let part = "\(path).part-\(UUID().uuidString)"
        do {
            makePrivate(part)
            do {
                let copy = try BackupCopy(of: source, to: part)
                while try copy.step() {
                    progress(copy.progress)
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
            progress(1)
            try FileManager.default.moveItem(atPath: part, toPath: path)
        } catch {
            // What remains of a copy that failed does no harm; why it failed is what counts.
            for end in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: part + end) }
            throw error
        }
    }

    /// Gives the space of deleted rows back to the system. Takes the time and the room to write the file once more, and
    /// waits for its turn as a write does.
    ///
    /// - Throws: ``StoreError`` if others use the file, or the disk is full.
    public func compact() async throws {
        try await exclusively { try writer.compact() }
    }

    /// Puts what the log holds into the file, as far as readers let it, and empties the log. The store does so by itself
    /// now and then; before a file is copied by other means it must be done.
    ///
    /// - Returns: whether the log is empty now.
    @discardableResult
    public func checkpoint() async throws -> Bool {
        try await exclusively { try writer.emptyLog() }
    }

    /// Reads the whole file and says what is wrong with it: damaged pages, indexes that do not fit their tables, those of full
    /// texts too, links to nothing.
    ///
    /// - Complexity: O(size of the file).
    public func checkIntegrity() async throws -> IntegrityReport {
        try await read { transaction in
            let indexes = try installation.tables.compactMap { try $0.text.flatMap(transaction.connection.damage) }
            let damages = try transaction.connection.damages() + indexes
            // Those of tables that the records do not have are somebody else's.
            let links = try installation.tables.flatMap { try transaction.connection.danglingLinks(of: $0.name) }
            return IntegrityReport(
                damages: damages,
                danglingLinks: links.map { row in
                    func text(_ value: StoredValue) -> String {
                        if case .text(let text) = value { text } else { "\(value)" }
                    }
                    let owner = row[1] == .null ? "" : " of row \(row[1])"
                    return "\(text(row[0])).\(text(row[3]))\(owner) points to no \(text(row[2]))"
                })
        }
    }

    /// Makes an empty file that its owner alone may read and write, unless there is a file. The log gets the same rights.
    static func makePrivate(_ path: String) {
        // What cannot be made here cannot be opened either, which says so.
        makeEmptyFile(path)
    }

    /// Removes the file of a store, and the log beside it. None is no error.
    ///
    /// - Throws: ``StoreError`` of kind `busy` if somebody has it open; what the system says if it cannot be removed.
    public static func deleteFile(at path: String) throws {
        let path = try FilePath.checked(path)
        guard FileManager.default.fileExists(atPath: path) else { return try removeFiles(path) }
        do {
            try Connection(path: path, readOnly: false, busyTimeout: .zero).leaveLogMode()
        } catch let error as StoreError where error.kind == .busy {
            let count = OpenFiles.count(path)
            guard count > 0 else { throw error }
            throw StoreError(
                .busy,
                "\(count) stores of this process have the file open; close them, or let go of the last references to them: "
                    + "sessions, results and tasks that observe have one each", code: error.code)
        } catch is StoreError {
            // Damaged files can go too.
        }
        try removeFiles(path)
    }

    private static func removeFiles(_ path: String) throws {
        for end in ["-wal", "-shm", "-journal", ""] where FileManager.default.fileExists(atPath: path + end) {
            try FileManager.default.removeItem(atPath: path + end)
        }
    }

    /// Copies a file to where none is yet.
    static func copySeed(_ seed: String, _ path: String) async throws {
        let (seed, path) = (try FilePath.checked(seed), try FilePath.checked(path))
        guard !FileManager.default.fileExists(atPath: path) else { return }
        let hasLog = FileManager.default.fileExists(atPath: seed + "-wal")
        let source = try Connection(
            path: hasLog ? seed : FilePath.immutable(seed), readOnly: true, busyTimeout: .seconds(5))
        try await copy(source, to: path) { _ in }
    }
}

/// Makes an empty file with these rights from its first moment, unless there is one.
///
/// A file that is there must not even be opened: closing it would take from this process all the locks that it has on it
/// (https://sqlite.org/howtocorrupt.html, 2.2).
private func makeEmptyFile(_ path: String) {
    var file = open(path, O_CREAT | O_EXCL | O_RDONLY, 0o600)
    // A symbolic link to nothing counts as a file for the first, not for the second.
    if file < 0, !FileManager.default.fileExists(atPath: path) { file = open(path, O_CREAT | O_RDONLY, 0o600) }
    if file >= 0 { close(file) }
}
