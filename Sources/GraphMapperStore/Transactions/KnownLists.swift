/// Ordered lists that are known to be stored as the writing connection has left them, so that an append to one need not
/// read the whole to notice other writers.
///
/// A list is known from when a change has compared or written all of it, for as long as nobody writes anything else: this
/// connection, whose rows are counted but for those of changes that leave other lists alone, or another one, as the
/// engine tells. What is undone is not known either.
///
/// It belongs to a store, and is used by who writes.
final class KnownLists: @unchecked Sendable {
    // Sendable because one task at a time writes, and each sees what the one before did.

    /// How far the file has been written by anything but the changes that leave lists alone.
    struct DatabaseVersion: Equatable {
        /// Another one when another connection has written.
        var version: StoredValue?
        /// Rows that this connection has touched otherwise.
        var changes: Int
    }

    /// Rows that were touched by changes which leave lists alone, or tell of the list that they edit.
    @exclusivity(unchecked) private var orderlyChanges = 0
    private var lists: [ListID: [StoredValue]] = [:]
    private var size = 0
    private var knownAt = DatabaseVersion(version: nil, changes: 0)

    /// Takes so many rows that were touched, but not by foreign keys and triggers, for ones that leave lists alone but for what
    /// is told here.
    func noteOrderly(_ rows: Int) { orderlyChanges += rows }

    /// How far the file has been written.
    ///
    /// - Parameters:
    ///   - version: the engine's word for what other connections have written.
    ///   - changes: all rows that the writing connection has touched.
    func databaseVersion(_ version: StoredValue?, changes: Int) -> DatabaseVersion {
        DatabaseVersion(version: version, changes: changes - orderlyChanges)
    }

    /// Shorter lists cost no more to read than to know.
    static let least = 64
    /// How many values are kept, of all lists.
    private static let most = 1 << 16

    /// Whether the list is stored as these targets' keys.
    func holds(_ targets: [StoredValue], _ list: ListID, at now: DatabaseVersion) -> Bool {
        now == knownAt && lists[list] == targets
    }

    func learn(_ targets: [StoredValue], _ list: ListID, at now: DatabaseVersion) {
        guard targets.count >= Self.least, targets.count <= Self.most else { return forget(list) }
        forget(list)
        if now != knownAt || size + targets.count > Self.most { forgetAll() }
        knownAt = now
        lists[list] = targets
        size += targets.count
    }

    func forget(_ list: ListID) {
        if !lists.isEmpty, let old = lists.removeValue(forKey: list) { size -= old.count }
    }

    func forgetAll() {
        lists = [:]
        size = 0
    }
}

/// One ordered link of one row.
struct ListID: Hashable {
    var table: String
    var property: String
    var key: [StoredValue]

    init(_ link: ChangeSet.Relink) { (table, property, key) = (link.table, link.property, link.key) }
}
