/// What a load does where the app has edited what another writer has changed.
extension LoadBatch {
    /// What becomes of a property that the app has changed.
    func settle(
        _ step: StepTasks<D>, _ slot: Int, _ model: D.Model, _ theirs: UnsafePointer<D>,
        _ read: (UnsafePointer<D>, D.Model) throws -> Void
    ) throws {
        // A value of the app's that does not encode is kept, and a save says what is wrong with it.
        guard let merge = load.merge, let isSame = step.isSame, let old = snapshots[slot],
            let place = entities.place(of: step), withUnsafePointer(to: old, { !isSame($0, theirs) }),
            let mine = try? entities.storedValues(step, place, model, old)
        else { return }
        let property = D.schema.properties[place]
        let conflict = Conflict(
            .value, type: D.schema.name, id: "\(old.id)", property: property.name, base: property.stored(old),
            mine: mine, theirs: property.stored(theirs.pointee))
        guard conflict.mine != conflict.theirs else { return }
        switch merge(conflict) {
        case .mine: return
        case .theirs: try read(theirs, model)
        case .merged(let values): try entities.set(values, of: conflict, place, model, theirs.pointee, read)
        }
    }
}
