/// What is deleted, by the app, by rules, or by another writer.
protocol DeletePhase: TableState {
    func dropDeleted()
    func delete(_ model: AnyObject) throws
    var hasDeleteRules: Bool { get }
    func dependents() throws -> [RuledOut]
    func orphans() throws -> [RuledOut]
    func owned() -> [ObjectIdentifier]
    func checkDenied() throws
    func hide(_ object: AnyObject) -> Bool
    func show(_ object: AnyObject)
    func isHidden(_ object: AnyObject) -> Bool
    func isMoved(_ object: AnyObject, _ inverse: AnyKeyPath?, _ owner: AnyObject) -> Bool
    var hasDeleted: Bool { get }
    func addVanished(_ ids: Any) throws
    /// Lets an object be deleted, or not; false if it is so already.
    func mark(_ slot: Int, isDeleted: Bool) -> Bool
    /// Lets rules not delete an object while a save is under way.
    func spare(_ slot: Int)
    func endSparing()
    func hideVanished()
    func showVanished()
}

extension EntityTable: DeletePhase {
    var hasDeleteRules: Bool { mapping.steps.contains { $0.rule != .nullify } }
    func orphans() throws -> [RuledOut] { try letGo() }
    func isHidden(_ object: AnyObject) -> Bool { (object as? D.Model).map(isDeleted) ?? false }
    var hasDeleted: Bool { !identity.deleted.isEmpty || !identity.dropped.isEmpty }
    func mark(_ slot: Int, isDeleted: Bool) -> Bool {
        isDeleted ? identity.deleted.insert(slot).inserted : identity.deleted.remove(slot) != nil
    }
    func spare(_ slot: Int) { identity.spared.insert(slot) }
    func endSparing() { identity.spared = [] }
    /// Vanished objects that are hidden count as deleted.
    func hideVanished() { identity.deleted.formUnion(vanished) }
    /// An object that the app has deleted and that vanished is just gone.
    func showVanished() { identity.deleted.subtract(vanished) }
}
