/// What a session asks of the table of one DTO type at any time, whatever the type.
protocol EntityPhase: TableState {
    /// What a load gathers of the type.
    func newBatch(_ load: Load) -> any LoadPhase
    var recordType: ObjectIdentifier { get }
    var dtoType: any DTO.Type { get }
    var columnTargets: [any DTO.Type] { get }
    func holds(_ model: AnyObject) -> Bool
    /// The class of its models.
    var modelType: AnyClass { get }
    /// Whether its models are of a class that this table's are a superclass of.
    func isBase(of other: any ErasedTable) -> Bool
    var name: String { get }
    /// Whether the table's DTOs are not stored, but others of their model are.
    var isPayload: Bool { get }
    var identityMap: AnyObject { get }
    /// The other tables of models of this class.
    var siblings: [any ErasedTable] { get }
    func hasSnapshot(_ slot: Int) -> Bool
    func forgetSnapshot(_ slot: Int)
    func attach()
    func object(at slot: Int) -> AnyObject?
    func idText(of object: AnyObject) -> String
    func isTaken(_ object: AnyObject, by other: AnyObject?) -> Bool
    /// The model's properties that the row has.
    var rowPaths: [AnyKeyPath] { get }
    var modelPaths: [AnyKeyPath] { get }
    func keyValues(of object: AnyObject) -> [StoredValue]
    func heldObjects() -> [AnyObject]
    func unlink(_ object: AnyObject, _ visit: (any ErasedTable, AnyObject) -> Void)
    func forgetAll()
    var slotCount: Int { get }
    /// How many slots are used.
    var idCount: Int { get }
    func slot(holding object: AnyObject) -> Int?
    /// The error of a second instance that claims an id.
    func claimedTwice(_ model: AnyObject) -> GraphError
    /// Throws if an object that the session has not seen cannot be one of the table's.
    func checkNew(_ model: AnyObject) throws
    /// Lets a model say when it is edited next, if its mapping tracks.
    func trackObject(_ model: AnyObject)
    /// Whether the session has another object of the same id.
    func isOther(_ object: AnyObject) -> Bool
    func numberSlots() -> SlotNumbers
    func renumber(_ numbers: [ObjectIdentifier: SlotNumbers])
    func idText(_ slot: Int) -> String
    func state(of model: AnyObject) -> GraphSession.ObjectState?
    func isLoaded(_ model: AnyObject, _ path: AnyKeyPath) throws -> Bool
    func clear(_ model: AnyObject, _ path: AnyKeyPath) throws
    func requireLink(_ path: AnyKeyPath) throws
    /// Whether a link leads to objects of a type whose foreign keys hold it.
    func isOwner(of target: ObjectIdentifier) -> Bool
    func hasSnapshot(of model: AnyObject) -> Bool
    func maps(_ path: AnyKeyPath) -> Bool
    /// The model's properties that the mapping reads, links aside.
    var fieldPaths: [AnyKeyPath] { get }
}

extension EntityTable: EntityPhase {
    var siblings: [any ErasedTable] { core.siblings(of: self, D.Model.self) }
    func newBatch(_ load: Load) -> any LoadPhase { LoadBatch(load, self) }
    func checkNew(_ model: AnyObject) throws {
        if type(of: model) != D.Model.self { try checkSubclass(model) }
        try checkKey(unsafeDowncast(model, to: D.Model.self))
    }
    func trackObject(_ model: AnyObject) {
        if tracking != nil { track(unsafeDowncast(model, to: D.Model.self)) }
    }
    var recordType: ObjectIdentifier { ObjectIdentifier(D.self) }
    var dtoType: any DTO.Type { D.self }
    var columnTargets: [any DTO.Type] {
        D.schema.properties.compactMap { $0.isList ? nil : $0.link?.record }
    }
    func holds(_ model: AnyObject) -> Bool { model is D.Model }
    var modelType: AnyClass { D.Model.self }
    func isBase(of other: any ErasedTable) -> Bool {
        other.modelType != D.Model.self && other.modelType is D.Model.Type
    }
    var name: String { D.schema.name }
    var isPayload: Bool { isOfPayloads }
    func attach() { for step in mapping.steps { step.attach?(core) } }
    func object(at slot: Int) -> AnyObject? { model(at: slot) }
    func isTaken(_ object: AnyObject, by other: AnyObject?) -> Bool {
        isReplaced(object as? D.Model, by: other as? D.Model)
    }
    func idText(of object: AnyObject) -> String { (object as? D.Model).map { "\(mapping.idOf($0))" } ?? "" }
    var rowPaths: [AnyKeyPath] { mapping.steps.compactMap { $0.inverse == nil ? $0.modelPath : nil } }
    var modelPaths: [AnyKeyPath] { mapping.steps.compactMap(\.modelPath) }
    func keyValues(of object: AnyObject) -> [StoredValue] {
        (object as? D.Model).map { mapping.idOf($0).storedValues } ?? []
    }
    func heldObjects() -> [AnyObject] { heldModels() }
    func unlink(_ object: AnyObject, _ visit: (any ErasedTable, AnyObject) -> Void) {
        emptyLinks(of: object, visit)
    }
    var slotCount: Int { identity.models.count }
    var idCount: Int { identity.slots.count }
    func isOther(_ object: AnyObject) -> Bool {
        guard let model = object as? D.Model, let known = slotOfID(model).flatMap({ identity.models[$0] }) else {
            return false
        }
        return known !== model && !identity.isEvicted(model)
    }
    func slot(holding object: AnyObject) -> Int? { (object as? D.Model).flatMap(knownSlot) }
    func idText(_ slot: Int) -> String { snapshot(slot).map { "\($0.id)" } ?? "" }
    func state(of model: AnyObject) -> GraphSession.ObjectState? { objectState(model) }
    func requireLink(_ path: AnyKeyPath) throws { _ = try link(path) }
    var identityMap: AnyObject { identity }
    func hasSnapshot(_ slot: Int) -> Bool { snapshots.has(slot) }
    func forgetSnapshot(_ slot: Int) {
        if let tracking, let model = identity.models[slot] { tracking.forget(model) }
        snapshots.remove(slot)
        bases[slot] = nil
        vanished.remove(slot)
        forgetBaselines(slot)
    }
    func isOwner(of target: ObjectIdentifier) -> Bool { isOwnerOf(target) }
    func hasSnapshot(of model: AnyObject) -> Bool { slot(ofLoaded: model) != nil }
    func maps(_ path: AnyKeyPath) -> Bool { mapping.steps.contains { $0.modelPath == path } }
    var fieldPaths: [AnyKeyPath] { mapping.steps.compactMap { $0.read == nil ? nil : $0.modelPath } }
}
