/// What the tables of one model, a payload's and a record's, tell each other of what was said last.
protocol PayloadPhase: TableState {
    func forgetSaid(_ ids: Any)
    func stashOwnEdits(of paths: Set<AnyKeyPath>) throws -> [StashedEdit]
    func forgetUnsaved(_ arriving: Set<ObjectIdentifier>)
    func stashEdits(_ ids: Any) -> () -> [StashedEdit]
    func forgetUndone(_ objects: Set<ObjectIdentifier>?)
    func said(_ slot: Int, _ path: AnyKeyPath) -> Said?
    func said(of model: AnyObject, _ path: AnyKeyPath) -> Said?
    /// Whether the model has what its DTO of this table has given it; nil if that is not the last that the session took.
    func hasTaken(_ model: AnyObject, _ path: AnyKeyPath) -> Bool?
    /// What the model's DTO of this table has in a list; nil if it has none.
    func linked(by model: AnyObject, _ path: AnyKeyPath) -> [AnyObject]?
    /// Notes what the session has taken from another table's DTO of the model.
    func noteTaken(_ model: AnyObject, from other: any ErasedTable)
    var hasBaselines: Bool { get }
    func noteUnsaid(_ slot: Int, _ path: AnyKeyPath)
    func noteSaid(_ slot: Int, _ path: AnyKeyPath)
}

extension EntityTable: PayloadPhase {
    func stashOwnEdits(of paths: Set<AnyKeyPath>) throws -> [StashedEdit] { try takingBack(paths) }
    func forgetUndone(_ objects: Set<ObjectIdentifier>?) { forgetUndonePayloads(of: objects) }
    func said(_ slot: Int, _ path: AnyKeyPath) -> Said? { says(slot, path) }
    func said(of model: AnyObject, _ path: AnyKeyPath) -> Said? {
        slot(ofLoaded: model).flatMap { says($0, path) }
    }
    func linked(by model: AnyObject, _ path: AnyKeyPath) -> [AnyObject]? { targets(of: model, path) }
    func noteTaken(_ model: AnyObject, from other: any ErasedTable) { noteTakenElsewhere(model, other) }
    var hasBaselines: Bool { !baselines.isEmpty }
}
