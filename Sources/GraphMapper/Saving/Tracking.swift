import Observation

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
extension Mapping where D.Model: Observable {
    /// Lets the models, which are `@Observable`, say what is edited, so that ``GraphSession/edit(_:)`` need not be called:
    /// a save with `only: .edited` finds it, and costs what was edited, not what the session holds.
    ///
    /// ```swift
    /// let session = GraphSession(store, NoteRecord.mapping.tracked)
    /// ```
    ///
    /// An edit is a mapped property that is set, also to what it had. A mapped property with `@ObservationIgnored` is not
    /// seen. It costs some microseconds and a kilobyte an object: see `docs/write-back.md`.
    public var tracked: Self {
        var copy = self
        let paths = steps.compactMap { $0.modelPath as? PartialKeyPath<D.Model> }
        copy.track = { model, onChange in
            withObservationTracking {
                for path in paths { _ = model[keyPath: path] }
            } onChange: {
                onChange()
            }
        }
        return copy
    }
}

/// What the models of a table say of their own edits.
@usableFromInline final class Tracking<Model: AnyObject> {
    typealias Track = (Model, @escaping @Sendable () -> Void) -> Void

    private struct Said {
        var edited: [Followed] = []
        /// What the session has set itself.
        var quiet: [Followed] = []
        var isQuiet = false
    }

    private let track: Track
    /// Those that will say when they are edited. The session holds them.
    private var followed: Set<ObjectIdentifier> = []
    private let said = Locked(Said())

    init(_ track: @escaping Track) { self.track = track }

    /// Lets a model say when it is edited next.
    func follow(_ model: Model) {
        guard followed.insert(ObjectIdentifier(model)).inserted else { return }
        let reference = Followed(model)
        track(model) { [said] in
            said.withLock { $0.isQuiet ? $0.quiet.append(reference) : $0.edited.append(reference) }
        }
    }

    /// What was edited since the last question.
    func takeEdited() -> [Model] {
        let edited = said.withLock { said in
            defer { said.edited = [] }
            return said.edited
        }
        return edited.compactMap(taken)
    }

    /// What is set until ``endQuiet()`` is no edit.
    func startQuiet() { said.withLock { $0.isQuiet = true } }

    func endQuiet() {
        let set = said.withLock { said in
            defer { (said.quiet, said.isQuiet) = ([], false) }
            return said.quiet
        }
        for model in set.compactMap(taken) { follow(model) }
    }

    private func taken(_ reference: Followed) -> Model? {
        guard let model = reference.model as? Model, followed.remove(ObjectIdentifier(model)) != nil else { return nil }
        return model
    }

    func forget(_ model: AnyObject) { followed.remove(ObjectIdentifier(model)) }

    /// Forgets all but these.
    func keep(_ models: some Sequence<AnyObject>) { followed.formIntersection(models.map(ObjectIdentifier.init)) }
}

/// A model, for a closure that may run anywhere.
private final class Followed: @unchecked Sendable {
    // Set once. The closure only hands the reference on; the session that the model belongs to looks into it.
    private(set) weak var model: AnyObject?
    init(_ model: AnyObject) { self.model = model }
}

extension SessionCore {
    /// Runs what sets properties of models and is no edit of the app's.
    func quietly<T>(_ body: () throws -> T) rethrows -> T {
        for table in order { table.startQuiet() }
        defer { for table in order { table.endQuiet() } }
        return try body()
    }
}

extension EntityTable {
    @usableFromInline func track(_ model: D.Model) { tracking?.follow(model) }

    /// Marks what has said that it is edited. From now on it says so again.
    func markTracked() {
        guard let tracking else { return }
        for model in tracking.takeEdited() { markEdited(model) }
        for (model, _) in edited.values { tracking.follow(model) }
    }
}
