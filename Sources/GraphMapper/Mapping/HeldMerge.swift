/// What a load makes of links that the other side's foreign key holds, where the app has edited some. Who an object's owner
/// is belongs to the object: each child by itself keeps the app's edit, or takes what is stored.
@usableFromInline final class HeldMerge<D: Mappable, C: Mappable>
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

    /// The children that the app has put into the links of owners. Most loads need not know.
    private lazy var taken = inverseIndex.taken()

    /// The link of an owner.
    ///
    /// - Parameter stored: the children that are stored with it.
    @usableFromInline func merged(_ stored: [C.Model], _ slot: Int, _ owner: D.Model) -> [C.Model] {
        let known = Set(inverseIndex.held[slot] ?? [])
        let now = linked(owner)
        guard owners.snapshots.has(slot), inverseIndex.isChanged(slot, now) else {
            let isKept = { [self] (child: C.Model) in
                let isNew = children.knownSlot(of: child).flatMap(children.snapshot) == nil
                return isNew || known.contains(ObjectIdentifier(child)) || !taken.contains(ObjectIdentifier(child))
            }
            return stored.allSatisfy(isKept) ? stored : stored.filter(isKept)
        }
        let there = Set(stored.map(ObjectIdentifier.init))
        let own = Set(now.map(ObjectIdentifier.init))
        let kept = now.filter { there.contains(ObjectIdentifier($0)) || !known.contains(ObjectIdentifier($0)) }
        return kept
            + stored.filter { child in
                let child = ObjectIdentifier(child)
                return !known.contains(child) && !own.contains(child) && !taken.contains(child)
            }
    }
}
