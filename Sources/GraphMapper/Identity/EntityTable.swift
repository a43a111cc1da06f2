import Foundation

/// A session's table of one DTO type: the mapping, and the snapshots by slot.
@usableFromInline final class EntityTable<D: Mappable>: KeyedTable<D.ID>
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let mapping: Mapping<D>
    /// The DTO's schema: asking the type for it copies it.
    @usableFromInline let schema = D.schema
    var inverseIndexes: [AnyKeyPath: InverseIndex] = [:]
    /// Whether the first model that was made has what its DTO says.
    var isMadeChecked = false
    /// What has the positions of its objects in the links of owners.
    var positions: [PositionColumn] = []
    private var lastInverseIndex: (path: AnyKeyPath, inverseIndex: InverseIndex)?
    /// What stands for objects that a copy links to, if the DTO is a class.
    @usableFromInline let stubs: ObjectStubs<D>?
    /// The DTOs that ``record(of:)`` has made so far, by model.
    var records: [ObjectIdentifier: D] = [:]

    // What the app has told the session since the last save, and what the save under way has found.
    var added = AddedObjects()
    /// What the app says that it edits, and when it last said so.
    var edited: [ObjectIdentifier: (model: D.Model, stamp: Int)] = [:]
    var editStamp = 0
    @usableFromInline let tracking: Tracking<D.Model>?
    /// What gives new objects their ids, if the database does.
    let keys: KeyGiver<D.Model>?
    let hasKeyGiver: Bool
    /// The steps of links that can be set.
    private(set) lazy var linkSteps = mapping.steps.indices.filter { mapping.steps[$0].assign != nil }
    /// What lets back-references follow what is written, of the steps that are such.
    private(set) lazy var settlers = mapping.steps.compactMap(\.settle)
    private(set) lazy var placingSteps = mapping.steps.filter { $0.placeChildren != nil }
    /// What makes the changes of new rows' ordered links.
    private(set) lazy var listEncoders = mapping.lists.map { ListEncoder(schema, $0.place, $0.encode) }
    /// The walk of a save of what is edited.
    var partial: PartialWalk?

    /// By slot, what the app's edits were made on, of properties that another writer has changed since.
    var bases: [Int: EditBase<D>] = [:]
    /// Slots of objects whose rows another writer has deleted.
    @usableFromInline var vanished: Set<Int> = []
    /// New objects of the last plan, and the rows that a failed save found under their ids.
    var inserting: [D.ID] = []
    var rows: [IDKey<D.ID>: FoundRow<D>] = [:]
    /// The owners of found rows whose links to one were noted.
    var filledLinks: [(index: InverseIndex, owner: Int)] = []
    /// Who decides about them.
    var foundPolicy: ConflictPolicy?

    /// By property and slot, what the model had when a DTO came that leaves the property open.
    var baselines: [AnyKeyPath: [Int: Any]] = [:]
    /// By property of the model, the slots of objects whose property the session has last taken from elsewhere than from
    /// the DTO here, although that says something.
    var elsewhere: [AnyKeyPath: Set<Int>] = [:]
    private(set) lazy var isOfPayloads = !isStored && siblings.contains(where: \.isStored)
    init(_ mapping: Mapping<D>, _ identity: IdentityMap<D.ID>, _ core: SessionCore, place: Int) {
        self.mapping = mapping
        stubs = mapping.objects.map { ObjectStubs($0) }
        tracking = mapping.track.map { Tracking($0) }
        keys = mapping.steps.lazy.compactMap(\.keys).first
        hasKeyGiver = keys != nil
        super.init(mapping, identity, core, place: place)
    }

    /// What the source last answered, or a save last wrote, by slot.
    @inlinable var snapshots: RecordBuffer<D> { unsafeDowncast(snapshotRows, to: RecordBuffer<D>.self) }

    // MARK: Looking up

    @inlinable func model(at slot: Int) -> D.Model? {
        guard let model = held.models[slot] else { return nil }
        return unsafeDowncast(model, to: D.Model.self)
    }

    @inlinable func model(_ id: D.ID) -> D.Model? {
        guard let slot = identity.slot(id) else { return nil }
        return model(at: slot)
    }

    @inlinable func snapshot(_ slot: Int) -> D? { snapshots.has(slot) ? snapshots.pointer(slot).pointee : nil }

    @usableFromInline func inverseIndex(_ foreignKey: AnyKeyPath) -> InverseIndex {
        // A key path that is written in one place is one object; to hash it costs much.
        if let lastInverseIndex, lastInverseIndex.path === foreignKey { return lastInverseIndex.inverseIndex }
        let inverseIndex =
            inverseIndexes[foreignKey]
            ?? InverseIndex(
                slotOf: { [unowned self] in Int32(truncatingIfNeeded: slotOrEvicted($0)) },
                isReplaced: { [identity] in !identity.replaced.isEmpty && identity.replaced[Int($0)] != nil })
        inverseIndexes[foreignKey] = inverseIndex
        lastInverseIndex = (foreignKey, inverseIndex)
        return inverseIndex
    }

    private(set) lazy var ownRules: TableRules = {
        var rules = TableRules(D.schema)
        rules.version = mapping.steps.first(where: \.isVersion)?.property.flatMap {
            D.schema.columnNames(at: $0)?.first
        }
        return rules
    }()
    /// Whether an update may change a part of a unique value or of a foreign key.
    var hasCompounds: Bool {
        ownRules.hasCompounds || core.uniqueColumns(D.schema.name).contains { $0.count > 1 }
    }

}

extension EntityTable {
    /// Calls `body` with the address of a DTO that is there.
    @inlinable @inline(__always)
    func withPointer<T>(to place: Int, of rows: RecordBuffer<D>, _ body: (UnsafePointer<D>) throws -> T) rethrows -> T {
        try body(rows.pointer(place))
    }

    /// Whether the app has left the property alone. A value that does not encode is an edit: a load keeps it, and a
    /// save says what is wrong with it.
    func isUnedited(
        _ check: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool, _ slot: Int, _ model: D.Model
    ) -> Bool { (try? isClean(check, slot, model)) ?? false }

    /// Asks a step about a slot that has a snapshot.
    @inlinable @inline(__always)
    func isClean(
        _ check: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool, _ slot: Int, _ model: D.Model
    ) rethrows -> Bool {
        try withPointer(to: slot, of: snapshots) { try check($0, model, core) }
    }
}
