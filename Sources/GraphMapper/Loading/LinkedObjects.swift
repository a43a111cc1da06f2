/// New objects that the app has not added, and that only links of others lead to. Nobody tells the session of them, so they are
/// looked for where it matters: O(objects and links held).
extension SessionCore {
    /// Calls `visit` with each of them, and the table that a link to it names.
    func forEachLinked(_ visit: (any ErasedTable, AnyObject) -> Void) {
        var seen: Set<ObjectIdentifier> = []
        var queue: [(table: any ErasedTable, object: AnyObject)] = []
        func look(_ table: any ErasedTable, _ object: AnyObject) {
            table.forEachTarget(of: object) { targets, object in
                guard targets.slot(holding: object) == nil, !targets.held.isEvicted(object),
                    !targets.isHidden(object), seen.insert(ObjectIdentifier(object)).inserted
                else { return }
                visit(targets, object)
                queue.append((targets, object))
            }
        }
        for table in order {
            for slot in 0..<table.slotCount {
                if let object = table.object(at: slot), !table.isHidden(object) { look(table, object) }
            }
        }
        while let (table, object) = queue.popLast() { look(table, object) }
    }

    func linkedObjects() -> [AnyObject] {
        var objects: [AnyObject] = []
        forEachLinked { objects.append($1) }
        return objects
    }

    /// Whether links lead to a new object that was not added.
    func isLinked(_ model: AnyObject) -> Bool {
        var isFound = false
        forEachLinked { if $1 === model { isFound = true } }
        return isFound
    }

    /// The new object with this id that links lead to.
    func linked<D: Mappable>(_ type: D.Type, _ id: D.ID) -> D.Model?
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        guard let table = knownTable(type) else { return nil }
        var found: D.Model?
        forEachLinked { _, object in
            if let model = object as? D.Model, IDKey(table.mapping.idOf(model)) == IDKey(id) { found = model }
        }
        return found
    }
}

extension Load {
    /// Lets the load take new objects that links lead to for those of its DTOs, and make no second ones.
    func adopt(_ objects: [AnyObject]) {
        for object in objects { for batch in all { batch.adopt(object) } }
    }
}

extension LoadBatch {
    func adopt(_ object: AnyObject) {
        guard let model = object as? D.Model, case let id = mapping.idOf(model), indices[id] != nil,
            identity.slot(id) == nil
        else { return }
        provenance.adoptable[IDKey(id)] = model
    }
}
