/// How models that nobody else holds are found and let go of.
protocol ReleasePhase: TableState {
    func isHeldOnlyHere(_ slot: Int) -> Bool
    func slotsHeldOnlyHere() -> [Int]
    func isAsStored(_ slot: Int) -> Bool
    func isHeld(by owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject]) -> Bool
    func held(by owner: Int, _ foreignKey: AnyKeyPath) -> [AnyObject]
    func forgetHeld(by owner: Int, _ foreignKey: AnyKeyPath)
    func emptyLinks(_ slot: Int) -> [EmptiedLink]
    func setLink(_ slot: Int, _ step: Int, _ objects: [AnyObject])
    func targets(of step: Int) -> (any ErasedTable)?
    func forEachTarget(of object: AnyObject, _ visit: (any ErasedTable, AnyObject) -> Void)
    func heldBefore(by slot: Int) -> [ObjectIdentifier]
    func leaveToSiblings() -> [() -> Void]
    func letGo(_ slot: Int)
}

extension EntityTable: ReleasePhase {
    func isHeldOnlyHere(_ slot: Int) -> Bool { isKnownUniquelyReferenced(&identity.models[slot]) }
    func slotsHeldOnlyHere() -> [Int] { identity.slotsHeldOnlyHere() }
    func held(by owner: Int, _ foreignKey: AnyKeyPath) -> [AnyObject] {
        (inverseIndex(foreignKey).base[owner] ?? []).compactMap { model(at: Int($0)) }
    }
    func forgetHeld(by owner: Int, _ foreignKey: AnyKeyPath) { inverseIndex(foreignKey).forget(owner) }
    func emptyLinks(_ slot: Int) -> [EmptiedLink] { emptiedLinks(of: slot) }
    func setLink(_ slot: Int, _ step: Int, _ objects: [AnyObject]) {
        if let model = model(at: slot) { mapping.steps[step].assign?(model, objects) }
    }
    func targets(of step: Int) -> (any ErasedTable)? { target(of: step) }
    func heldBefore(by slot: Int) -> [ObjectIdentifier] { targetsBefore(of: slot) }
    func letGo(_ slot: Int) { letGoOfModel(at: slot) }
}
