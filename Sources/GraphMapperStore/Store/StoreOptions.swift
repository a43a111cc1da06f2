extension GraphStore {
    /// Where a store keeps its data.
    public enum Location: Sendable {
        /// In the file at this path. It is a name and no URI; an empty one, `:memory:` and one with a NUL are errors.
        case file(String)
        /// In memory, for as long as the store lives.
        case inMemory
        /// In memory, shared by all stores of the process that are open under this name, for as long as one of them is.
        /// One transaction at a time is open in it, also of those that read.
        case sharedMemory(String)
    }

    /// How a store is opened.
    public struct Options: Sendable {
        /// Whether writing is refused.
        public var isReadOnly = false
        /// Whether nobody changes the file while it is open, as one in an app's bundle: it is read only, nothing is locked,
        /// and no file is made beside it. What a log beside it holds is not seen.
        public var isImmutable = false
        /// The path of a file to begin with: copied if there is no file yet. It may lie in an app's bundle.
        public var seed: String?
        /// How long to wait for another process's write; some 24 days at most.
        public var busyTimeout = Duration.seconds(5)
        /// At most so many reads run at once: from one to 1,000.
        public var readers = 4
        /// The time between two looks for what others have written to the file, while something is observed: from a
        /// millisecond to an hour.
        public var watchInterval = Duration.milliseconds(200)
        /// Whether every program that writes to the file does it through a store, as an app and its extensions may: then
        /// observers are told of what others write by its change records, row by row, and of nothing else. If not, SQLite
        /// says that somebody has written, but not what, and all that is observed is read again.
        public var onlyStoresWrite = false
        /// The steps from the first version of the schema to the newest.
        public var migrations: [Migration] = []
        /// Sees a step's name, and what part of it is done, from 0 to 1. Called now and then while a migration runs.
        public var migrationProgress: (@Sendable (String, Double) -> Void)?
        /// Sees each fresh connection first: for pragmas, keys, and a log of statements. What it is given is good until it
        /// returns.
        public var prepare: (@Sendable (FreshConnection) throws -> Void)?
        /// The usual options.
        public init() {}
    }
}
