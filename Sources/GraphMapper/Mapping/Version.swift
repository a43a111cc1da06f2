/// A property of the DTO that counts the updates of its row: any change by another writer then is a conflict, not only
/// one of the same property. Not needed otherwise.
///
/// A new object has version 1. A save that writes anything of the row adds one, and applies only if the stored version is
/// the one that was read. Links that the other side's foreign key holds are the other side's changes.
public struct Version<D: Mappable>: MappingEntry where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// What the session does with this entry.
    public let step: Step<D>

    /// The property that counts. The model does not have it.
    public init(_ from: KeyPath<D, Int>) {
        var step = StepTasks<D>()
        step.property = from
        step.isVersion = true
        step.isSame = { $0.pointee[keyPath: from] == $1.pointee[keyPath: from] }
        step.answer = { _, snapshot, _, answers in answers.put(snapshot?.pointee[keyPath: from] ?? 1) }
        self.step = Step(step)
    }
}
