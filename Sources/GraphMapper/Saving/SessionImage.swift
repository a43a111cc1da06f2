/// What a session knows, and how the edited models are, at one time: for work that may be undone.
struct SessionImage {
    private let core: SessionCore
    private let tables: [() -> Void]
    private let models: [() -> Void]
    private let keys: [() -> Void]
    /// What was edited when the work had ended well.
    private var afterwards: (edits: [PropertyKey: EditedValue], pending: Set<ObjectIdentifier>)?

    /// Complexity: O(objects held).
    init(_ core: SessionCore) throws {
        self.core = core
        tables = core.order.map { $0.remember() }
        keys = core.order.map { $0.rememberKeys() }
        models = try core.rememberEdits()
    }

    /// Notes that the work has ended well: what the app does from now on is no part of it.
    mutating func endWork() {
        afterwards = (core.edits().mapValues(\.value), Set(core.order.flatMap { $0.pendingObjects() }))
    }

    /// Makes the session, and the models' mapped properties, what they were. What the app has done since the work ended is kept.
    func restore() throws {
        var kept: [EditedProperty] = []
        var pending: [() throws -> Void] = []
        if let afterwards {
            kept = core.edits().values.filter { afterwards.edits[$0.key] != $0.value }
            pending = core.order.map { $0.pendingChanges(besides: afterwards.pending) }
        }
        try core.quietly {
            try putBack()
            for edit in kept { edit.putBack() }
        }
        for redo in pending { try redo() }
    }

    private func putBack() throws {
        for takeBack in keys { takeBack() }
        for restore in tables { restore() }
        // What is edited now goes back to what was read, then what was edited then to what it was. Meanwhile nothing is
        // deleted: a link to what is would count as empty, and so as unedited.
        try core.rollBack()
        for restore in models { restore() }
        for restore in tables { restore() }
    }
}

/// A property of one object.
struct PropertyKey: Hashable {
    let object: ObjectIdentifier
    let path: AnyKeyPath
}

/// What an edited property has, to be compared with what it had.
enum EditedValue: Equatable {
    case stored([StoredValue])
    case linked([ObjectIdentifier])
    /// A value that does not encode.
    case unknown
}

/// A property that the app has edited, with what it has.
struct EditedProperty {
    let key: PropertyKey
    let value: EditedValue
    /// Sets it to that. Holds the object.
    let putBack: () -> Void
}

extension SessionCore {
    fileprivate func rememberEdits() throws -> [() -> Void] {
        defer { for table in order { table.endWalk() } }
        try walk()
        return order.flatMap { $0.rememberEdited() }
    }

    /// What the app has edited of loaded objects. Complexity: O(objects held).
    fileprivate func edits() -> [PropertyKey: EditedProperty] {
        var edits: [PropertyKey: EditedProperty] = [:]
        for table in order where table.isStored { for edit in table.editedProperties() { edits[edit.key] = edit } }
        return edits
    }
}

extension EntityTable {
    /// The properties of loaded objects that the app has edited.
    func editedProperties() -> [EditedProperty] {
        identity.models.indices.flatMap { slot -> [EditedProperty] in
            guard let model = model(at: slot), let old = snapshot(slot) else { return [] }
            return mapping.steps.enumerated().compactMap { index, step in
                guard let path = step.modelPath as? PartialKeyPath<D.Model>, let putBack = path.remember(in: model),
                    !isUntouched(step, slot, model), step.inverse != nil || isKnown(step, index, model, slot)
                else { return nil }
                let value: EditedValue
                if step.assign != nil {
                    value = .linked(step.linked(model).map(ObjectIdentifier.init))
                } else if let place = self.place(of: step), let stored = try? storedValues(step, place, model, old) {
                    value = .stored(stored)
                } else {
                    value = .unknown
                }
                return EditedProperty(
                    key: PropertyKey(object: ObjectIdentifier(model), path: path), value: value, putBack: putBack)
            }
        }
    }
}
