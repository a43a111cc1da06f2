/// What a save asks of a table: the walk, and what it plans to write.
protocol SavePhase: TableState {
    /// Forgets what the links of an owner held that other objects' foreign keys hold.
    func forgetOwned(by slot: Int)
    func startWalk()
    /// Makes links follow what back-references have moved.
    func finishMoves()
    /// Gives the objects of ordered links positions.
    func placeChildren() throws
    func walk() throws -> Bool
    func collect(into plan: inout WritePlan) throws
    func endWalk()
    func add(_ model: AnyObject, isUpsert: Bool) throws
    func evict(_ model: AnyObject)
    func forgetAdded(_ object: AnyObject)
    func markEdited(_ model: AnyObject)
    func startEditedWalk()
    func startQuiet()
    func endQuiet()
    func walkEdited() throws -> Bool
    func visit(_ slot: Int)
    func visit(object: AnyObject)
    /// Lets a partial walk look at an object that has taken a place.
    func reachTaken(_ slot: Int)
    func compareHeld(by owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject])
    func keyChange(of object: AnyObject, to id: Any) throws -> (row: KeyChange?, follow: () -> Void)?
    func movedLinks(from old: Any, to new: Any) -> MovedLinks?
    func follow(_ links: [MovedLinks], own: (slot: Int, id: Any)?) throws -> () -> Void
    func give(_ number: Int64, to object: AnyObject) throws
    func takeKeyBack(from object: AnyObject)
    func relinking() throws -> [() -> Void]
    var addedObjects: [AnyObject] { get }
    var rules: TableRules? { get }
    func keySlots() -> [[StoredValue]: Int]
    var hasInsertions: Bool { get }
    func lookUp(in source: any GraphSource) async throws -> Bool
    func endLookUp()
    /// Notes who decides about the rows that a save finds under the ids of new objects.
    func setFoundPolicy(_ policy: ConflictPolicy)
    /// Asks for the found rows of objects that came by another DTO type.
    func wantFound(_ load: Load) throws
    /// Whether new objects that take found rows over may let go of what these lead to.
    var hasReplacedTargets: Bool { get }
    func wantReplacedTargets(_ load: Load) throws
}

extension EntityTable: SavePhase {
    func forgetOwned(by slot: Int) {
        for index in linkSteps {
            if let inverse = mapping.steps[index].inverse { target(of: index)?.forgetHeld(by: slot, inverse) }
        }
    }
    func finishMoves() { for inverseIndex in inverseIndexes.values { inverseIndex.finishMoves() } }
    func forgetAdded(_ object: AnyObject) { added.remove(object) }
    func startQuiet() { tracking?.startQuiet() }
    func endQuiet() { tracking?.endQuiet() }
    func visit(_ slot: Int) { partial?.visit(slot) }
    func reachTaken(_ slot: Int) {
        partial?.visit(slot)
        _ = partial?.compare(slot)
    }
    func visit(object: AnyObject) { visitOwner(object) }
    func compareHeld(by owner: Int, _ foreignKey: AnyKeyPath, _ objects: [AnyObject]) {
        compare(heldBy: owner, foreignKey, objects)
    }
    func keyChange(of object: AnyObject, to id: Any) throws -> (row: KeyChange?, follow: () -> Void)? {
        try change(of: object, to: id)
    }
    func follow(_ links: [MovedLinks], own: (slot: Int, id: Any)?) throws -> () -> Void {
        try following(links, own: own)
    }
    func give(_ number: Int64, to object: AnyObject) throws { try giveKey(number, object) }
    func takeKeyBack(from object: AnyObject) { takeBackKey(object) }
    var addedObjects: [AnyObject] { Array(added) }
    var rules: TableRules? { ownRules }
    var hasInsertions: Bool { !inserting.isEmpty }
    func lookUp(in source: any GraphSource) async throws -> Bool { try await findRows(in: source) }
    func endLookUp() {
        (rows, foundPolicy) = ([:], nil)
        forgetReplaced()
    }
    func walk() throws -> Bool {
        if walked == 0, !added.isEmpty { try walkAdded() }
        return try walkEach()
    }
    func endWalk() { forgetFound() }
    func setFoundPolicy(_ policy: ConflictPolicy) { foundPolicy = policy }
}
