/// What a load makes of links that the other side's foreign key holds, where the app has edited some. Who an object's owner
/// is belongs to the object: each child by itself keeps the app's edit and its base, or takes what is stored.
@usableFromInline final class OwnedLinkMerge<D: Mappable, C: Mappable>
where
    D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D, C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C
{
    private let owners: EntityTable<D>
    private let children: EntityTable<C>
    private let inverseIndex: InverseIndex
    private let linked: (D.Model) -> [C.Model]

    @usableFromInline init(
        _ owners: EntityTable<D>, _ children: EntityTable<C>, _ inverseIndex: InverseIndex,
        _ linked: @escaping (D.Model) -> [C.Model]
    ) {
        self.owners = owners
        self.children = children
        self.inverseIndex = inverseIndex
        self.linked = linked
    }

    /// The children that the app has moved. Most loads need not know.
    private lazy var edits = inverseIndex.edits()

    /// The link of an owner, and what is its base from now on.
    ///
    /// - Parameter stored: the children that are stored with it.
    @usableFromInline func merged(_ stored: [C.Model], _ slot: Int, _ owner: D.Model) -> (
        link: [C.Model], base: [Int32]
    ) {
        let all = inverseIndex.slots(of: stored)
        let now = linked(owner)
        guard inverseIndex.isFilled(slot) else {
            // What the app has put into a link that was not loaded comes after what is stored.
            let kept = now.filter { child in !stored.contains { $0 === child } }
            let link = zip(stored, all).filter { !edits.contains(Int($0.1)) || isNew($0.1) }.map(\.0)
            if owners.snapshot(slot) == nil { return (link, all) }
            // A link to one keeps the app's.
            let isList = inverseIndex.link?.isList ?? true
            return (isList || kept.isEmpty ? link + kept : kept, all)
        }
        let known = Set(inverseIndex.base[slot] ?? [])
        // Another writer's change of an object that the app has moved, too, is for the save to settle.
        let base =
            zip(stored, all).filter { known.contains($0.1) || !edits.contains(Int($0.1)) || isNew($0.1) }.map(\.1)
            + (inverseIndex.base[slot] ?? []).filter { edits.released.contains($0) && !all.contains($0) }
        guard owners.snapshots.has(slot), inverseIndex.isChanged(slot, now) else {
            let isKept = { [self] (slot: Int32) in isNew(slot) || known.contains(slot) || !edits.contains(Int(slot)) }
            if all.allSatisfy(isKept) { return (stored, base) }
            return (zip(stored, all).filter { isKept($0.1) }.map(\.0), base)
        }
        let there = Set(all)
        let own = inverseIndex.slots(of: now)
        let kept = zip(now, own).filter { there.contains($0.1) || !known.contains($0.1) }.map(\.0)
        let coming = zip(stored, all).filter { child in
            !known.contains(child.1) && !own.contains(child.1) && !edits.contains(Int(child.1))
        }
        return (kept + coming.map(\.0), base)
    }

    /// Whether nothing of an object was stored before.
    private func isNew(_ slot: Int32) -> Bool { children.snapshot(Int(slot)) == nil }
}
