/// A session's table of one DTO type, whatever the type.
public class AnyTable {
    @usableFromInline unowned final let core: SessionCore
    /// The identity map, whatever its ids are.
    @usableFromInline final let held: HeldModels
    /// What the source last answered, or a save last wrote, by slot.
    @usableFromInline final let snapshotRows: AnyRecordBuffer
    /// One bit a step: whether the model's link was ever filled.
    @exclusivity(unchecked) @usableFromInline final var filled: ContiguousArray<UInt64> = []

    /// How many slots the walk under way has visited.
    @exclusivity(unchecked) final var walked = 0

    /// Where it stands among the session's tables.
    let place: Int

    init(_ core: SessionCore, _ held: HeldModels, _ snapshots: AnyRecordBuffer, place: Int) {
        (self.core, self.held, snapshotRows, self.place) = (core, held, snapshots, place)
    }

    /// What a load gathers of the type.
    func newBatch(_ load: Load) -> any LoadPhase { preconditionFailure("implemented by the one subclass") }

    /// Makes the slot's snapshot and mask addressable.
    @usableFromInline final func grow(to count: Int) {
        guard filled.count < count else { return }
        snapshotRows.extend(to: count)
        while filled.count < count { filled.append(0) }
    }

    var recordType: ObjectIdentifier { ObjectIdentifier(Never.self) }
    var dtoType: any DTO.Type { preconditionFailure("implemented by the one subclass") }
    var columnTargets: [any DTO.Type] { [] }
    func holds(_ model: AnyObject) -> Bool { false }
    /// The class of its models.
    var modelType: AnyClass { AnyTable.self }
    /// Whether its models are of a class that this table's are a superclass of.
    func isBase(of other: AnyTable) -> Bool { false }
    var name: String { "" }
    func dropDeleted() {}
    func forgetDropped() {}
    func startWalk() {}
    /// Makes links follow what back-references have moved.
    func moveHeld() {}
    func walk() throws -> Bool { false }
    func collect(into plan: inout WritePlan) throws {}
    func endWalk() {}
    func add(_ model: AnyObject) throws {}
    func delete(_ model: AnyObject) throws {}
    func evict(_ model: AnyObject) {}
    /// Whether the session's backing keeps the type; what it does not keep is mapped, but never written or read again.
    var isStored = true
    /// Whether the table's DTOs are not stored, but others of their model are.
    @usableFromInline var isPayload: Bool { false }
    var identityMap: AnyObject { self }
    /// The other tables of models of this class.
    var kin: [AnyTable] { [] }
    func hasSnapshot(_ slot: Int) -> Bool { false }
    func forgetSnapshot(_ slot: Int) {}
    func attach() {}
    // Rules about what is deleted with what.
    var hasDeleteRules: Bool { false }
    func dependents() throws -> [RuledOut] { [] }
    func orphans() throws -> [RuledOut] { [] }
    func owned() -> [ObjectIdentifier] { [] }
    func checkDenied() throws {}
    func hide(_ object: AnyObject) -> Bool { false }
    func show(_ object: AnyObject) {}
    func forgetAdded(_ object: AnyObject) {}
    func isHidden(_ object: AnyObject) -> Bool { false }
    func isMoved(_ object: AnyObject, _ inverse: AnyKeyPath?, _ owner: AnyObject) -> Bool { false }
    func object(at slot: Int) -> AnyObject? { nil }
    func idText(of object: AnyObject) -> String { "" }
    func isTaken(_ object: AnyObject, by other: AnyObject?) -> Bool { false }
    // Saves of what is edited.
    var hasDeleted: Bool { false }
    func markEdited(_ model: AnyObject) {}
    func startEditedWalk() {}
    func startQuiet() {}
    func endQuiet() {}
    func walkEdited() throws -> Bool { false }
    func visit(_ slot: Int) {}
    func visit(object: AnyObject) {}
    /// Lets a partial walk look at an object that has taken a place.
    func reachTaken(_ slot: Int) {}
    func compareHeld(by owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject]) {}
    // Keys that change.
    func keyChange(of object: AnyObject, to id: Any) throws -> (row: KeyChange?, follow: () -> Void)? { nil }
    func movedLinks(from old: Any, to new: Any) -> MovedLinks? { nil }
    func follow(_ links: [MovedLinks], own: (slot: Int, id: Any)?) throws -> () -> Void { {} }
    func give(_ number: Int64, to object: AnyObject) throws {}
    func takeKeyBack(from object: AnyObject) {}
    func rememberKeys() -> () -> Void { {} }
    func relinking() throws -> [() -> Void] { [] }
    // Graphs that were edited elsewhere.
    /// The model's properties that the row has.
    var rowPaths: [AnyKeyPath] { [] }
    var modelPaths: [AnyKeyPath] { [] }
    func forgetSaid(_ ids: Any) {}
    func keyValues(of object: AnyObject) -> [StoredValue] { [] }
    func takeBackEdits(of paths: Set<AnyKeyPath>) throws -> [TakenBack] { [] }
    // Taking the graph apart.
    func heldObjects() -> [AnyObject] { [] }
    func unlink(_ object: AnyObject, _ visit: (AnyTable, AnyObject) -> Void) {}
    func forgetAll() {}
    // Models that nobody else holds.
    var slotCount: Int { 0 }
    /// How many slots are used.
    var idCount: Int { 0 }
    func isHeldOnlyHere(_ slot: Int) -> Bool { false }
    func slotsHeldOnlyHere() -> [Int] { [] }
    func isAsStored(_ slot: Int) -> Bool { false }
    func slot(inverseIndex object: AnyObject) -> Int? { nil }
    /// Whether the session has another object of the same id.
    func isOther(_ object: AnyObject) -> Bool { false }
    func isHeld(by owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject]) -> Bool { true }
    func held(by owner: Int, _ foreignKey: AnyKeyPath) -> [ObjectIdentifier] { [] }
    func forgetHeld(by owner: Int, _ foreignKey: AnyKeyPath) {}
    func emptyLinks(_ slot: Int) -> [EmptiedLink] { [] }
    func setLink(_ slot: Int, _ step: Int, _ objects: [AnyObject]) {}
    var addedObjects: [AnyObject] { [] }
    func targets(of step: Int) -> AnyTable? { nil }
    func forEachTarget(of object: AnyObject, _ visit: (AnyTable, AnyObject) -> Void) {}
    func heldBefore(by slot: Int) -> [ObjectIdentifier] { [] }
    func leaveToKin() -> [() -> Void] { [] }
    func letGo(_ slot: Int) {}
    func numberSlots() -> SlotNumbers { SlotNumbers() }
    func renumber(_ numbers: [ObjectIdentifier: SlotNumbers]) {}
    // Savepoints.
    func remember() -> () -> Void { {} }
    func rememberEdited() -> [() -> Void] { [] }
    // What a save asks about rows.
    var rules: TableRules? { nil }
    func keySlots() -> [[StoredValue]: Int] { [:] }
    func idText(_ slot: Int) -> String { "" }
    func addVanished(_ ids: Any) throws {}
    /// Lets an object be deleted, or not; false if it is so already.
    func mark(_ slot: Int, isDeleted: Bool) -> Bool { false }
    /// Lets rules not delete an object while a save is under way.
    func spare(_ slot: Int) {}
    func endSparing() {}
    // Rows that a save finds under the ids of new objects.
    var hasInsertions: Bool { false }
    /// Whether the app has deleted any object since the last save.
    var hasDeletions: Bool { false }
    func lookUp(in source: any GraphSource) async throws -> Bool { false }
    func endLookUp() {}
    // Rows that another writer has deleted.
    func hideVanished() {}
    func showVanished() {}
    // What the app asks about one object.
    func state(of model: AnyObject) -> GraphSession.ObjectState? { nil }
    func isLoaded(_ model: AnyObject, _ path: AnyKeyPath) throws -> Bool { false }
    func clear(_ model: AnyObject, _ path: AnyKeyPath) throws {}
    func requireLink(_ path: AnyKeyPath) throws {}
    // The DTOs of a model and of what it nests.
    /// The models whose DTOs the model's nests, each with its table.
    func nestedModels(of model: AnyObject) throws -> [(table: AnyTable, model: AnyObject)] { [] }
    func hasRecord(of model: AnyObject) -> Bool { true }
    /// Makes an object whose properties are set later, so that others can link to it; false for structs.
    func startRecord(of model: AnyObject) -> Bool { false }
    func makeRecord(of model: AnyObject) throws {}
    func forgetRecords() {}
    func forgetPending() {}
    func rollBack(_ arriving: Set<ObjectIdentifier>) throws {}
    // What the tables of one model tell each other.
    func forgetUnsaved(_ arriving: Set<ObjectIdentifier>) {}
    /// Whether a link leads to objects of a type whose foreign keys hold it.
    func isOwner(of target: ObjectIdentifier) -> Bool { false }
    /// Asks for the found rows of objects that came by another DTO type.
    func wantFound(_ load: Load) throws {}
    func stashEdits(_ ids: Any) -> () -> [TakenBack] { { [] } }
    func forgetUndone(_ objects: Set<ObjectIdentifier>?) {}
    func said(_ slot: Int, _ path: AnyKeyPath) -> Said? { nil }
    func said(of model: AnyObject, _ path: AnyKeyPath) -> Said? { nil }
    func hasSnapshot(of model: AnyObject) -> Bool { false }
    func maps(_ path: AnyKeyPath) -> Bool { false }
    /// Whether the model has what its DTO of this table has given it; nil if that is not the last that the session took.
    func hasTaken(_ model: AnyObject, _ path: AnyKeyPath) -> Bool? { nil }
    /// What the model's DTO of this table has in a list; nil if it has none.
    func linked(by model: AnyObject, _ path: AnyKeyPath) -> [AnyObject]? { nil }
    /// Notes what the session has taken from another table's DTO of the model.
    func noteTaken(_ model: AnyObject, from other: AnyTable) {}
    /// The model's properties that the mapping reads, links aside.
    var fieldPaths: [AnyKeyPath] { [] }
    var hasBaselines: Bool { false }
    func noteUnsaid(_ slot: Int, _ path: AnyKeyPath) {}
    func noteSaid(_ slot: Int, _ path: AnyKeyPath) {}
}
