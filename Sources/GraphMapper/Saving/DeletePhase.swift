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
    /// Lets a save that is planned again take an object for what a conflict has made of it; answers what undoes that.
    func settle(_ slot: Int, as fate: SaveRetry.Fate) -> () -> Void
    /// Whether another writer has deleted the object's row, and a load has found that out.
    func isVanished(_ slot: Int) -> Bool
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
    func isVanished(_ slot: Int) -> Bool { vanished.contains(slot) }
    func settle(_ slot: Int, as fate: SaveRetry.Fate) -> () -> Void {
        switch fate {
        case .deleted, .kept:
            // Rules do not delete what another writer has changed.
            if fate == .kept { identity.spared.insert(slot) }
            guard mark(slot, isDeleted: fate == .deleted) else { return {} }
            return { [self] in _ = mark(slot, isDeleted: fate != .deleted) }
        case .inserted:
            let row = snapshots[slot]
            forgetVanished(slot)
            return { [self] in
                snapshots[slot] = row
                vanished.insert(slot)
            }
        }
    }
    func endSparing() { identity.spared = [] }
    /// Vanished objects that are hidden count as deleted.
    func hideVanished() { identity.deleted.formUnion(vanished) }
    /// An object that the app has deleted and that vanished is just gone.
    func showVanished() { identity.deleted.subtract(vanished) }
}
