/// Which models a session holds that nobody else does.
public enum Retention: Sendable, Hashable {
    /// All of them, until they are evicted or the session ends.
    case strong
    /// Those with unsaved changes, and those that a model in use refers to weakly. What the app has let go of otherwise is
    /// let go of at the end of the next load or save, or by ``GraphSession/releaseUnused()``.
    case weak
}

extension GraphSession {
    /// Lets go of every model that nobody but the session holds, and whose row says the same.
    ///
    /// Kept is what a save would write: new, deleted and changed objects, and those named by ``edit(_:)``. Kept is also
    /// what a model that somebody holds leads to, a weak reference included, so that none becomes nil. What is let go of is
    /// as if it had never been loaded: the next load makes another instance.
    ///
    /// A session with ``Retention/weak`` does this by itself, after each load and save; one that holds its models strongly
    /// does it only here.
    ///
    /// To find what only models lead to that nobody holds, the links of these are emptied for a moment: of models that
    /// nobody sees, but their property observers run. References that are not mapped, and links that cannot be emptied, as
    /// required ones, count as somebody who holds, and so does everything about models of Objective-C classes. Models that
    /// hold each other strongly in a circle are not released, as everywhere in Swift: see ``dismantle()``.
    ///
    /// Complexity: O(objects held); O(objects and links) if anything is let go of. On a stack of constant depth.
    ///
    /// - Throws: ``GraphError`` of kind `.misuse` while a load or save is under way.
    public func releaseUnused() throws {
        try whileIdle { core.releaseUnused() }
    }

    /// What a session that holds weakly does when it has loaded or saved.
    func relax() { if retention == .weak { core.releaseUnused() } }
}
