extension Field where D.ID == V, V == W, V: FixedWidthInteger {
    /// The database gives the key: an object whose id is 0 is new, and is given its id by the save that inserts it.
    ///
    /// ```swift
    /// Field(\.id, \.id).generated
    /// ```
    ///
    /// What links to the object is written by the same save. If that fails, or is undone by a savepoint, the id is 0
    /// again. A new object with another id is inserted under that one. Until it is saved, a plan shows the object under a
    /// number that no row has.
    public var generated: Self {
        var step = step.tasks
        guard let raw = step.idOf, let path = step.modelPath as? ReferenceWritableKeyPath<D.Model, V> else {
            step.diagnostic = "the id that the database is to give is a let of the model; make it a var"
            return Self(step)
        }
        let keys = GeneratedKeys<D.Model, V>()
        step.idOf = { object in
            let id = raw(object)
            return id == 0 ? keys.standIn(for: unsafeDowncast(object, to: D.Model.self)) : id
        }
        step.answer = { [idOf = step.idOf] model, _, _, answers in answers.put(idOf?(model) ?? 0) }
        step.keys = KeyGiver(
            isNeeded: { raw($0) == 0 },
            number: { Int64(clamping: raw($0)) },
            give: { model, number in
                guard let id = V(exactly: number) else {
                    throw GraphError(
                        .misuse, "the key \(number) that the database gives does not fit \(V.self)", type: D.schema.name
                    )
                }
                model[keyPath: path] = id
                keys.noteGiven(model)
            },
            takeBack: { model in if keys.hasGiven(model) { model[keyPath: path] = 0 } })
        return Self(step)
    }
}

/// How objects get ids from the database.
struct KeyGiver<Model> {
    let isNeeded: (Model) -> Bool
    /// The id that the object has.
    let number: (Model) -> Int64
    let give: (Model, Int64) throws -> Void
    /// Makes the id 0 again, if it was given.
    let takeBack: (Model) -> Void
}

/// The numbers that stand in for the ids of new objects, and the objects that were given theirs.
private final class GeneratedKeys<Model: AnyObject, V: FixedWidthInteger> {
    private var numbers: [ObjectIdentifier: (model: WeakReference, number: V)] = [:]
    private var given: [ObjectIdentifier: WeakReference] = [:]
    private var count: V = 0
    private var limit = 64

    func standIn(for model: Model) -> V {
        let key = ObjectIdentifier(model)
        if let known = numbers[key], known.model.object === model { return known.number }
        prune()
        count += 1
        // Numbers that no database gives.
        let number = V.isSigned ? V.min + count : V.max - count
        numbers[key] = (WeakReference(model), number)
        return number
    }

    func noteGiven(_ model: Model) {
        prune()
        given[ObjectIdentifier(model)] = WeakReference(model)
    }

    func hasGiven(_ model: Model) -> Bool { given[ObjectIdentifier(model)]?.object === model }

    private func prune() {
        guard numbers.count + given.count >= limit else { return }
        numbers = numbers.filter { $0.value.model.object != nil }
        given = given.filter { $0.value.object != nil }
        limit = max(64, 2 * (numbers.count + given.count))
    }
}
