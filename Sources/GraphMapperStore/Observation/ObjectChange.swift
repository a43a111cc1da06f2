/// What an observer of one record gets.
public enum ObjectChange<R: StoredRecord>: Sendable {
    /// The record, at the beginning or when a row of its id has come.
    case initial(R)
    /// The record as it is now, and the properties that differ.
    case changed(R, [PropertyChange])
    /// There is no such row, or no longer.
    case deleted

    /// The record as it is now.
    public var record: R? {
        switch self {
        case .initial(let record), .changed(let record, _): record
        case .deleted: nil
        }
    }
}

/// One property that has changed, by what is stored.
public struct PropertyChange: Sendable, Hashable {
    /// The property's name.
    public let property: String
    /// What it was; one value for each of its columns, or the targets' keys of an ordered link.
    public let old: [StoredValue]
    /// What it is.
    public let new: [StoredValue]
}

extension GraphStore {
    /// One record, and then how it changes.
    ///
    /// - Parameters:
    ///   - type: the record's type.
    ///   - id: its id.
    ///   - properties: those whose changes count; nil for all.
    ///   - linked: which records that it links to count, too. A change of one is told as that of the link which leads
    ///     there, whose old and new values are the same.
    /// - Returns: ``ObjectChange/initial(_:)``, or ``ObjectChange/deleted`` if there is none; then what happens to it. The
    ///   sequence goes on after a deletion: a row of that id may come again. Iterating throws as
    ///   ``changes(of:observing:linked:)`` does.
    /// - Complexity: a commit that does not write to this row costs nothing.
    public func changes<R: StoredRecord>(
        of type: R.Type, _ id: R.ID, observing properties: [any PartialKeyPath<R> & Sendable]? = nil,
        linked: ObservedLinks<R> = .none
    ) -> Changes<ObjectChange<R>> {
        Changes(self, LiveObject(LiveLinked(Query(type).having(id), properties, linked)))
    }
}

extension Query {
    /// The record of that id alone.
    func having(_ id: R.ID) -> Self {
        let terms = zip(rows.key, id.storedValues).map { Formula.binary($0, .isSame, .value($1)) }
        return filtered(by: Condition(Formula.and(terms) ?? .always, nil))
    }
}

/// One record, kept up to date.
struct LiveObject<R: StoredRecord>: Live {
    private var live: LiveLinked<R>

    init(_ live: LiveLinked<R>) { self.live = live }

    var interest: Interest { live.interest }

    mutating func prepare(_ tx: ReadTransaction, _ lists: [String: ListOwner]) throws { try live.prepare(tx, lists) }

    mutating func start(_ tx: ReadTransaction) throws -> ObjectChange<R>? {
        _ = try live.start(tx)
        return live.rows.results.first.map { .initial($0) } ?? .deleted
    }

    mutating func advance(_ tx: ReadTransaction, _ pending: Pending) throws -> ObjectChange<R>? {
        let old = live.rows.results.first
        guard try live.advance(tx, pending) != nil else { return nil }
        guard let new = live.rows.results.first else { return .deleted }
        guard let old else { return .initial(new) }
        let properties = R.schema.properties.filter {
            !$0.isNested && (!$0.isSame(old, new) || live.changedLinks.contains($0.name))
        }
        return .changed(
            new,
            properties.map { property in
                var change: (old: [StoredValue], new: [StoredValue]) = ([], [])
                property.encode(old, &change.old)
                property.encode(new, &change.new)
                return PropertyChange(property: property.name, old: change.old, new: change.new)
            })
    }
}
