/// Owners that were evicted and are loaded again: the back-references of objects that the session still has lead to the new
/// instances.
extension LoadBatch {
    func followReloaded() {
        guard !identity.evicted.isEmpty else { return }
        for id in made {
            guard let slot = identity.slot(id), let new = model(at: slot) else { continue }
            for old in identity.evictedModels where old !== new {
                guard let old = old as? D.Model, IDKey(mapping.idOf(old)) == IDKey(id) else { continue }
                for table in core.order { table.replaceOwner(old, by: new, at: slot, entities) }
            }
        }
    }
}

extension EntityTable {
    /// Sets back-references that lead to an evicted owner to the one that was loaded in its place.
    func replaceOwner(_ old: AnyObject, by new: AnyObject, at owner: Int, _ owners: any ErasedTable) {
        for step in mapping.steps {
            // An owner that may be gone is not asked for: the reference may be unowned.
            guard let named = step.named, let assign = step.assign, let property = step.property,
                target(step)?.held === owners.held, let former = owners.held.evictedSlot(old)
            else { continue }
            let inverseIndex = inverseIndex(property)
            for slot in identity.models.indices where inverseIndex.name(of: slot) == former {
                guard let model = model(at: slot), named(model) === old else { continue }
                assign(model, [new])
                inverseIndex.name(slot, owner: owner)
            }
        }
    }
}
