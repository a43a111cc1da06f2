/// Ordered lists that are known to be stored as the writing connection has left them, so that an append to one need not
/// read the whole to notice other writers.
///
/// A list is known from when a change has compared or written all of it, for as long as nobody writes anything else: this
/// connection, whose rows are counted but for those of changes that leave other lists alone, or another one, as SQLite's
/// data version tells. What is undone is not known either.
struct KnownLists {
    /// How far the file has been written by anything but the changes that leave lists alone.
    struct Moment: Equatable {
        /// SQLite's data version: another one when another connection has written.
        var version: StoredValue?
        /// Rows that this connection has touched otherwise.
        var changes: Int
    }

    private var lists: [ListID: [StoredValue]] = [:]
    private var size = 0
    private var moment = Moment(version: nil, changes: 0)

    /// Shorter lists cost no more to read than to know.
    static let least = 64
    /// How many values are kept, of all lists.
    private static let most = 1 << 16

    /// Whether the list is stored as these targets' keys.
    func holds(_ targets: [StoredValue], _ list: ListID, at now: Moment) -> Bool {
        now == moment && lists[list] == targets
    }

    mutating func learn(_ targets: [StoredValue], _ list: ListID, at now: Moment) {
        guard targets.count >= Self.least, targets.count <= Self.most else { return forget(list) }
        forget(list)
        if now != moment || size + targets.count > Self.most { forgetAll() }
        moment = now
        lists[list] = targets
        size += targets.count
    }

    mutating func forget(_ list: ListID) {
        if !lists.isEmpty, let old = lists.removeValue(forKey: list) { size -= old.count }
    }

    mutating func forgetAll() {
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
