import Foundation

/// A session's table of one DTO type: the mapping, and the snapshots by slot.
public final class EntityTable<D: Mappable>: KeyedTable<D.ID>
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let mapping: Mapping<D>
    /// The DTO's schema: asking the type for it copies it.
    @usableFromInline let schema = D.schema
    var inverseIndexes: [AnyKeyPath: InverseIndex] = [:]
    /// Whether the first model that was made has what its DTO says.
    var isMadeChecked = false
    private var lastHolding: (path: AnyKeyPath, inverseIndex: InverseIndex)?
    /// What stands for objects that a copy links to, if the DTO is a class.
    @usableFromInline let stubs: ObjectStubs<D>?
    /// The DTOs that ``record(of:)`` has made so far, by model.
    var records: [ObjectIdentifier: D] = [:]

    // The walk under way.
    var added = AddedObjects()
    /// What the app says that it edits, and when it last said so.
    var edited: [ObjectIdentifier: (model: D.Model, stamp: Int)] = [:]
    var editStamp = 0
    @usableFromInline let tracking: Tracking<D.Model>?
    /// What gives new objects their ids, if the database does.
    private(set) lazy var keys: KeyGiver<D.Model>? = mapping.steps.lazy.compactMap(\.keys).first
    /// The steps of links that can be set.
    private(set) lazy var linkSteps = mapping.steps.indices.filter { mapping.steps[$0].assign != nil }
    /// What lets back-references follow what is written, of the steps that are such.
    private(set) lazy var settlers = mapping.steps.compactMap(\.settle)
    /// What makes the changes of new rows' ordered links.
    private(set) lazy var listEncoders = mapping.lists.map { ListEncoder(schema, $0.place, $0.encode) }
    /// The walk of a save of what is edited.
    var partial: PartialWalk?

    /// Slots of objects whose rows another writer has deleted.
    @usableFromInline var vanished: Set<Int> = []
    /// New objects of the last plan, and the rows that a failed save found under their ids.
    var inserting: [D.ID] = []
    var rows: [IDKey<D.ID>: D] = [:]

    /// By property and slot, what the model had when a DTO came that leaves the property open.
    var baselines: [AnyKeyPath: [Int: Any]] = [:]
    /// By property of the model, the slots of objects whose property the session has last taken from elsewhere than from
    /// the DTO here, although that says something.
    var elsewhere: [AnyKeyPath: Set<Int>] = [:]
    override var kin: [AnyTable] { core.kin(of: self, D.Model.self) }
    private lazy var isOfPayloads = !isStored && kin.contains(where: \.isStored)
    init(_ mapping: Mapping<D>, _ identity: IdentityMap<D.ID>, _ core: SessionCore, place: Int) {
        self.mapping = mapping
        stubs = mapping.objects.map { ObjectStubs($0) }
        tracking = mapping.track.map { Tracking($0) }
        super.init(mapping, identity, core, place: place)
    }

    /// What the source last answered, or a save last wrote, by slot.
    @inlinable var snapshots: RecordBuffer<D> { unsafeDowncast(snapshotRows, to: RecordBuffer<D>.self) }

    override func newBatch(_ load: Load) -> any LoadPhase { LoadBatch(load, self) }
    override var recordType: ObjectIdentifier { ObjectIdentifier(D.self) }
    override var dtoType: any DTO.Type { D.self }
    override var columnTargets: [any DTO.Type] {
        D.schema.properties.compactMap { $0.isList ? nil : $0.link?.record }
    }
    override func holds(_ model: AnyObject) -> Bool { model is D.Model }
    override var modelType: AnyClass { D.Model.self }
    override func isBase(of other: AnyTable) -> Bool {
        other.modelType != D.Model.self && other.modelType is D.Model.Type
    }

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
        if let lastHolding, lastHolding.path === foreignKey { return lastHolding.inverseIndex }
        let inverseIndex = inverseIndexes[foreignKey] ?? InverseIndex()
        inverseIndexes[foreignKey] = inverseIndex
        lastHolding = (foreignKey, inverseIndex)
        return inverseIndex
    }

    // What its superclasses ask of it.

    @usableFromInline override func twoInstances(_ model: AnyObject) -> GraphError { claimedTwice(model) }
    @usableFromInline override func checkClass(_ model: AnyObject) throws {
        if type(of: model) != D.Model.self { try checkSubclass(model) }
    }
    @usableFromInline override func follow(_ model: AnyObject) {
        if tracking != nil { track(unsafeDowncast(model, to: D.Model.self)) }
    }

    // Overrides must stand in the class; the work is done in the files named after it.

    override var name: String { D.schema.name }
    @usableFromInline override var isPayload: Bool { isOfPayloads }

    override func add(_ model: AnyObject) throws { try addModel(model) }
    override func delete(_ model: AnyObject) throws { try deleteModel(model) }
    override func startWalk() { resetWalk() }
    override func moveHeld() { for inverseIndex in inverseIndexes.values { inverseIndex.finishMoves() } }
    override func attach() { for step in mapping.steps { step.attach?(core) } }
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
    override var hasDeleteRules: Bool { mapping.steps.contains { $0.rule != .nullify } }
    override func dependents() throws -> [RuledOut] { try cascading() }
    override func orphans() throws -> [RuledOut] { try letGo() }
    override func owned() -> [ObjectIdentifier] { ownedObjects() }
    override func checkDenied() throws { try checkDenials() }
    override func hide(_ object: AnyObject) -> Bool { hideObject(object) }
    override func show(_ object: AnyObject) { showObject(object) }
    override func forgetAdded(_ object: AnyObject) { added.remove(object) }
    override func isHidden(_ object: AnyObject) -> Bool { (object as? D.Model).map(isDeleted) ?? false }
    override func isMoved(_ object: AnyObject, _ inverse: AnyKeyPath?, _ owner: AnyObject) -> Bool {
        isMovedAway(object, inverse, owner)
    }
    override func object(at slot: Int) -> AnyObject? { model(at: slot) }
    override func idText(of object: AnyObject) -> String { (object as? D.Model).map { "\(mapping.idOf($0))" } ?? "" }
    override var hasDeleted: Bool { !identity.deleted.isEmpty || !identity.dropped.isEmpty }
    override func markEdited(_ model: AnyObject) { markAsEdited(model) }
    override func startEditedWalk() { startPartialWalk() }
    override func startQuiet() { tracking?.startQuiet() }
    override func endQuiet() { tracking?.endQuiet() }
    override func walkEdited() throws -> Bool { try walkPartially() }
    override func visit(_ slot: Int) { partial?.visit(slot) }
    override func reachTaken(_ slot: Int) {
        partial?.visit(slot)
        _ = partial?.compare(slot)
    }
    override func visit(object: AnyObject) { visitOwner(object) }
    override func compareHeld(by owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject]) {
        compare(heldBy: owner, foreignKey, objects)
    }
    override func keyChange(of object: AnyObject, to id: Any) throws -> (row: KeyChange?, follow: () -> Void)? {
        try change(of: object, to: id)
    }
    override func isTaken(_ object: AnyObject, by other: AnyObject?) -> Bool {
        isReplaced(object as? D.Model, by: other as? D.Model)
    }
    override func movedLinks(from old: Any, to new: Any) -> MovedLinks? { movingLinks(from: old, to: new) }
    override func follow(_ links: [MovedLinks], own: (slot: Int, id: Any)?) throws -> () -> Void {
        try following(links, own: own)
    }
    override func give(_ number: Int64, to object: AnyObject) throws { try giveKey(number, object) }
    override func takeKeyBack(from object: AnyObject) { takeBackKey(object) }
    override func rememberKeys() -> () -> Void { keyedSince() }
    override func relinking() throws -> [() -> Void] { try followingEdits() }
    override var rowPaths: [AnyKeyPath] { mapping.steps.compactMap { $0.inverse == nil ? $0.modelPath : nil } }
    override var modelPaths: [AnyKeyPath] { mapping.steps.compactMap(\.modelPath) }
    override func forgetSaid(_ ids: Any) { forgetStoredPayloads(ids) }
    override func keyValues(of object: AnyObject) -> [StoredValue] {
        (object as? D.Model).map { mapping.idOf($0).storedValues } ?? []
    }
    override func takeBackEdits(of paths: Set<AnyKeyPath>) throws -> [TakenBack] { try takingBack(paths) }
    override func heldObjects() -> [AnyObject] { heldModels() }
    override func unlink(_ object: AnyObject, _ visit: (AnyTable, AnyObject) -> Void) {
        emptyLinks(of: object, visit)
    }
    override func forgetAll() { forgetEverything() }
    override var slotCount: Int { identity.models.count }
    override var idCount: Int { identity.slots.count }
    override func isHeldOnlyHere(_ slot: Int) -> Bool { isKnownUniquelyReferenced(&identity.models[slot]) }
    override func slotsHeldOnlyHere() -> [Int] { identity.slotsHeldOnlyHere() }
    override func isAsStored(_ slot: Int) -> Bool { isAsStoredModel(slot) }
    override func isOther(_ object: AnyObject) -> Bool {
        guard let model = object as? D.Model, let known = slotOfID(model).flatMap({ identity.models[$0] }) else {
            return false
        }
        return known !== model && !identity.isEvicted(model)
    }
    override func slot(inverseIndex object: AnyObject) -> Int? { (object as? D.Model).flatMap(knownSlot) }
    override func isHeld(by owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject]) -> Bool {
        isHeldAsKnown(by: owner, foreignKey, objects)
    }
    override func held(by owner: Int, _ foreignKey: AnyKeyPath) -> [ObjectIdentifier] {
        inverseIndex(foreignKey).held[owner] ?? []
    }
    override func forgetHeld(by owner: Int, _ foreignKey: AnyKeyPath) { inverseIndex(foreignKey).held[owner] = nil }
    override func emptyLinks(_ slot: Int) -> [EmptiedLink] { emptiedLinks(of: slot) }
    override func setLink(_ slot: Int, _ step: Int, _ objects: [AnyObject]) {
        if let model = model(at: slot) { mapping.steps[step].assign?(model, objects) }
    }
    override var addedObjects: [AnyObject] { Array(added) }
    override func targets(of step: Int) -> AnyTable? { target(of: step) }
    override func forEachTarget(of object: AnyObject, _ visit: (AnyTable, AnyObject) -> Void) {
        visitTargets(of: object, visit)
    }
    override func heldBefore(by slot: Int) -> [ObjectIdentifier] { targetsBefore(of: slot) }
    override func leaveToKin() -> [() -> Void] { leavingToKin() }
    override func letGo(_ slot: Int) { letGoOfModel(at: slot) }
    override func numberSlots() -> SlotNumbers { numberedSlots() }
    override func renumber(_ numbers: [ObjectIdentifier: SlotNumbers]) { renumberSlots(numbers) }
    override func remember() -> () -> Void { remembered() }
    override func rememberEdited() -> [() -> Void] { editedModels() }
    override var rules: TableRules? { ownRules }
    override func keySlots() -> [[StoredValue]: Int] { slotsByKey() }
    override func idText(_ slot: Int) -> String { snapshot(slot).map { "\($0.id)" } ?? "" }
    override func addVanished(_ ids: Any) throws { try addingVanished(ids) }
    override func mark(_ slot: Int, isDeleted: Bool) -> Bool {
        isDeleted ? identity.deleted.insert(slot).inserted : identity.deleted.remove(slot) != nil
    }
    override func spare(_ slot: Int) { identity.spared.insert(slot) }
    override func endSparing() { identity.spared = [] }
    override var hasInsertions: Bool { !inserting.isEmpty }
    override var hasDeletions: Bool { !identity.deleted.isEmpty || !identity.dropped.isEmpty }
    override func lookUp(in source: any GraphSource) async throws -> Bool { try await findRows(in: source) }
    override func endLookUp() { rows = [:] }
    /// Vanished objects that are hidden count as deleted.
    override func hideVanished() { identity.deleted.formUnion(vanished) }
    /// An object that the app has deleted and that vanished is just gone.
    override func showVanished() { identity.deleted.subtract(vanished) }
    override func state(of model: AnyObject) -> GraphSession.ObjectState? { objectState(model) }
    override func isLoaded(_ model: AnyObject, _ path: AnyKeyPath) throws -> Bool { try isLinkLoaded(model, path) }
    override func clear(_ model: AnyObject, _ path: AnyKeyPath) throws { try clearLink(model, path) }
    override func requireLink(_ path: AnyKeyPath) throws { _ = try link(path) }
    override func forgetPending() {
        added = AddedObjects()
        identity.deleted = []
        identity.dropped = [:]
        for (slot, old) in identity.replaced { identity.models[slot] = old }
        identity.replaced = [:]
    }
    override func rollBack(_ arriving: Set<ObjectIdentifier>) throws { try undoEdits(besides: arriving) }
    override var identityMap: AnyObject { identity }
    override func hasSnapshot(_ slot: Int) -> Bool { snapshots.has(slot) }
    override func forgetSnapshot(_ slot: Int) {
        if let tracking, let model = identity.models[slot] { tracking.forget(model) }
        snapshots.remove(slot)
        vanished.remove(slot)
        forgetBaselines(slot)
    }
    override func walk() throws -> Bool {
        if walked == 0, !added.isEmpty { try walkAdded() }
        return try walkEach()
    }
    override func nestedModels(of model: AnyObject) throws -> [(table: AnyTable, model: AnyObject)] {
        try modelsNested(in: model)
    }
    override func hasRecord(of model: AnyObject) -> Bool { records[ObjectIdentifier(model)] != nil }
    override func startRecord(of model: AnyObject) -> Bool { startObject(of: model) }
    override func makeRecord(of model: AnyObject) throws { try finishRecord(of: model) }
    override func forgetRecords() { records = [:] }
    override func endWalk() { forgetFound() }
    override func collect(into plan: inout WritePlan) throws { try collectChanges(into: &plan) }
    override func dropDeleted() { dropDeletedTargets() }
    override func forgetDropped() { (identity.dropped, identity.replaced) = ([:], [:]) }
    override func evict(_ model: AnyObject) { evictModel(model) }

    override func forgetUnsaved(_ arriving: Set<ObjectIdentifier>) { forgetUnsavedObjects(arriving) }
    override func isOwner(of target: ObjectIdentifier) -> Bool { isOwnerOf(target) }
    override func wantFound(_ load: Load) throws { try wantFoundRows(load) }
    override func stashEdits(_ ids: Any) -> () -> [TakenBack] { takingForEdits(ids) }
    override func forgetUndone(_ objects: Set<ObjectIdentifier>?) { forgetUndonePayloads(of: objects) }
    override func said(_ slot: Int, _ path: AnyKeyPath) -> Said? { says(slot, path) }
    override func said(of model: AnyObject, _ path: AnyKeyPath) -> Said? {
        slot(ofLoaded: model).flatMap { says($0, path) }
    }
    override func hasSnapshot(of model: AnyObject) -> Bool { slot(ofLoaded: model) != nil }
    override func maps(_ path: AnyKeyPath) -> Bool { mapping.steps.contains { $0.modelPath == path } }
    override func hasTaken(_ model: AnyObject, _ path: AnyKeyPath) -> Bool? { hasWhatCame(model, path) }
    override func linked(by model: AnyObject, _ path: AnyKeyPath) -> [AnyObject]? { targets(of: model, path) }
    override func noteTaken(_ model: AnyObject, from other: AnyTable) { noteTakenElsewhere(model, other) }
    override var fieldPaths: [AnyKeyPath] { mapping.steps.compactMap { $0.read == nil ? nil : $0.modelPath } }
    override var hasBaselines: Bool { !baselines.isEmpty }
    override func noteUnsaid(_ slot: Int, _ path: AnyKeyPath) { noteUnsaidField(slot, path) }
    override func noteSaid(_ slot: Int, _ path: AnyKeyPath) { noteSaidField(slot, path) }

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
