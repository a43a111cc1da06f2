/// What puts a table, and the models, back to what they were.
protocol UndoPhase: TableState {
    func rememberKeys() -> () -> Void
    /// Sets back-references that lead to an evicted owner to the one that was loaded in its place.
    func replaceOwner(_ old: AnyObject, by new: AnyObject, at slot: Int, _ owners: any ErasedTable)
    func remember() -> () -> Void
    func rememberEdited() -> [() -> Void]
    /// The properties of loaded objects that the app has edited.
    func editedProperties() -> [EditedProperty]
    /// The objects that are added or deleted with the next save.
    func pendingObjects() -> [ObjectIdentifier]
    /// What adds and deletes again what is added and deleted now, but for some.
    func pendingChanges(besides known: Set<ObjectIdentifier>) -> () throws -> Void
    func forgetPending()
    func rollBack(_ arriving: Set<ObjectIdentifier>) throws
}

extension EntityTable: UndoPhase {
    func remember() -> () -> Void { remembered() }
    func pendingObjects() -> [ObjectIdentifier] {
        (Array(added) + pendingDeletions).map(ObjectIdentifier.init)
    }
    func forgetPending() {
        added = AddedObjects()
        identity.deleted = []
        identity.dropped = [:]
        for (slot, old) in identity.replaced { identity.models[slot] = old }
        identity.replaced = [:]
    }
    func rollBack(_ arriving: Set<ObjectIdentifier>) throws { try undoEdits(besides: arriving) }
}
