/// Properties of models that are `let`: what their initializers have made of them is all that they will ever be.
extension LoadBatch {
    /// Of a loaded object whose row has another value by now, the model cannot take that. What it has would be written over
    /// it by the next save, as if the app had edited it.
    func checkFixedProperties() throws {
        guard !snapshots.indices.isEmpty else { return }
        for step in mapping.steps where step.isUnread {
            guard let isSame = step.isSame else { continue }
            for index in arrived {
                guard incoming.has(Int(index)), let slot = identity.slot(ids[Int(index)]), snapshots.has(slot),
                    !isSame(snapshots.pointer(slot), incoming.pointer(Int(index))), isStored(step)
                else { continue }
                throw fixed(
                    .conflict,
                    "another writer has changed it, and the model keeps it in a let; evict the object and load it again, or "
                        + "make the property a var", step, index)
            }
        }
    }

    /// The first object that the mapping makes has what the DTO says, or none will.
    func checkMade() throws {
        guard !entities.isMadeChecked, let id = made.first, let index = indices[id], let model = entities.model(id)
        else { return }
        entities.isMadeChecked = true
        for step in mapping.steps where step.isUnread && step.link == nil {
            guard try !step.isClean(incoming.pointer(Int(index)), model, core), isStored(step) else { continue }
            entities.isMadeChecked = false
            throw fixed(
                .invalidSchema,
                "the model's initializer gives its let another value than the DTO has; nothing can set it later", step,
                index)
        }
    }

    /// Whether the property is a stored one, and no computed one that follows others. Asked once something is wrong.
    private func isStored(_ step: StepTasks<D>) -> Bool {
        guard let path = step.modelPath.map({ "\($0)" }) else { return false }
        return path.hasPrefix("\\") && !path.contains("<computed")
    }

    private func fixed(_ kind: GraphError.Kind, _ message: String, _ step: StepTasks<D>, _ index: Int32) -> GraphError {
        GraphError(
            kind, message, type: D.schema.name, id: "\(ids[Int(index)])",
            property: D.schema.properties.first { $0.path == step.property }?.name)
    }
}
