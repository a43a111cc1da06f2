extension GraphSession {
    /// Takes the graph apart: empties the links of every model that the session holds, and of all that these lead to, and
    /// forgets them. Edits that are not saved are lost. The session can be used again.
    ///
    /// Swift releases objects that own each other by recursion, so that a long chain overflows the stack, and objects that
    /// own each other in a circle not at all. After this neither happens, as far as the links are mapped. A required link
    /// cannot be emptied: a circle of these alone stays.
    ///
    /// Complexity: O(objects and links), on a stack of constant depth.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` while a load or save is under way.
    public func dismantle() throws {
        try whileIdle { core.dismantle() }
    }
}

extension SessionCore {
    fileprivate func dismantle() {
        // They are let go of when all are without links.
        var held: [ObjectIdentifier: AnyObject] = [:]
        var queue: [(table: any ErasedTable, object: AnyObject)] = []
        func take(_ table: any ErasedTable, _ object: AnyObject) {
            if held.updateValue(object, forKey: ObjectIdentifier(object)) == nil { queue.append((table, object)) }
        }
        for table in order { for object in table.heldObjects() { take(table, object) } }
        while let (table, object) = queue.popLast() {
            for table in sharing(table) { table.unlink(object, take) }
        }
        for table in order { table.forgetAll() }
    }
}

extension EntityTable {
    /// Every model that the table holds, for whatever reason.
    func heldModels() -> [AnyObject] {
        identity.models.compactMap { $0 } + Array(identity.dropped.values) + Array(added) + edited.values.map(\.model)
    }

    /// Empties the links of an object, and calls `visit` with what they led to.
    func emptyLinks(of object: AnyObject, _ visit: (any ErasedTable, AnyObject) -> Void) {
        guard let model = object as? D.Model else { return }
        for step in mapping.steps {
            guard let drop = step.drop else { continue }
            if let linked = step.objects, let target = step.targets.first.flatMap({ core.erasedTable($0) }) {
                for object in linked(model) { visit(target, object) }
            }
            drop(model, core, true)
        }
    }

    /// Makes the table what it was when the session was made.
    func forgetAll() {
        forgetPending()
        (identity.slots, identity.models, identity.evicted) = (IDIndex(), [], [:])
        snapshots.removeAll()
        (filled, vanished, edited, bases) = ([], [], [:], [:])
        (records, rows, inserting, baselines) = ([:], [:], [], [:])
        for inverseIndex in inverseIndexes.values { inverseIndex.restore(nil) }
        tracking?.keep([])
    }
}
