/// Who owns the objects of one type by one foreign key: what the owners' links say. Owners and objects are slots.
@usableFromInline final class InverseIndex {
    /// What each loaded owner's link held when it was last filled or saved: the base of an edit, in order.
    private(set) var base: [Int: [Int32]] = [:]
    /// The owner that each object's back-reference was last set to by the session; -1 for none.
    @usableFromInline var named: ContiguousArray<Int32> = []
    /// The link on the owners' side, if there is one.
    var link: OwnerLink?
    /// What the walk of a save has found; nil outside of one.
    @usableFromInline var walk: OwnershipWalk?
    /// What the save that is being committed moves, by owner.
    var moves: [Int: Moves] = [:]
    /// The slot of an object of the type; -1 for one that the session does not know.
    private let slotOf: (AnyObject) -> Int32
    /// Whether another object than the one that was loaded has a slot: one that was added under the key of a deleted one.
    private let isReplaced: (Int32) -> Bool

    /// Objects that leave the link of an owner, and those that come, in order.
    struct Moves {
        var leaving: Set<ObjectIdentifier> = []
        var coming: [AnyObject] = []
    }

    init(slotOf: @escaping (AnyObject) -> Int32, isReplaced: @escaping (Int32) -> Bool) {
        (self.slotOf, self.isReplaced) = (slotOf, isReplaced)
    }

    // MARK: What owners held

    /// Whether no owner's link has ever been filled.
    @usableFromInline var isEmpty: Bool { base.isEmpty }

    /// How many owners' links have been filled.
    var ownerCount: Int { base.count }

    /// Whether the owner's link has been filled, so that what it holds is all that there is.
    @usableFromInline func isFilled(_ owner: Int) -> Bool { base[owner] != nil }

    /// Whether the owner's link held the object when it was last filled or saved.
    @usableFromInline func held(_ owner: Int, _ object: AnyObject) -> Bool {
        guard let held = base[owner], case let slot = slotOf(object), slot >= 0 else { return false }
        return held.contains(slot) && !isReplaced(slot)
    }

    @usableFromInline func slots(of objects: [AnyObject]) -> [Int32] { objects.map(slotOf) }

    /// Notes what an owner's link has been filled with.
    @usableFromInline func fill(_ owner: Int, _ slots: [Int32]) { base[owner] = slots }

    /// Lets the link of an owner be one that was never filled.
    func forget(_ owner: Int) { base[owner] = nil }

    /// Whether an owner's link holds others than when it was last filled or saved.
    @usableFromInline func isChanged(_ owner: Int, _ slots: [Int32]) -> Bool {
        guard let known = base[owner] else { return false }
        if known == slots { return false }
        // A foreign key keeps no order, unless a column has it, and a set has one of its own.
        return link?.isOrdered == true || Set(known) != Set(slots)
    }

    func isChanged(_ owner: Int, _ objects: [AnyObject]) -> Bool { isChanged(owner, slots(of: objects)) }

    /// Notes what owners held when a save was planned, which is stored now.
    func commit(_ saved: [Int: [AnyObject]]) { for (owner, objects) in saved { base[owner] = slots(of: objects) } }

    // MARK: What the app has moved

    /// The objects that the app has put into the links of owners, and those that it has taken out, since these were filled or
    /// saved. Complexity: O(owners and objects).
    func edits() -> OwnershipEdits {
        var edits = OwnershipEdits()
        for (owner, before) in base {
            let now = slots(of: link?.linked(owner) ?? [])
            guard isChanged(owner, now) else { continue }
            edits.taken.formUnion(Set(now).subtracting(before))
            edits.released.formUnion(Set(before).subtracting(now))
        }
        return edits
    }

    /// Whether the app has taken an object out of an owner's link since this was filled or saved.
    func hasReleased(_ owner: Int, _ object: Int) -> Bool {
        let slot = Int32(truncatingIfNeeded: object)
        return base[owner]?.contains(slot) ?? false && !slots(of: link?.linked(owner) ?? []).contains(slot)
    }

    // MARK: Back-references

    /// Notes the owner that an object's back-reference was set to by the session; -1 for none.
    @usableFromInline func name(_ object: Int, owner: Int) {
        while named.count <= object { named.append(-1) }
        named[object] = Int32(truncatingIfNeeded: owner)
    }

    /// The owner that the session set an object's back-reference to.
    @inlinable func name(of object: Int) -> Int? {
        object < named.count && named[object] >= 0 ? Int(named[object]) : nil
    }

    // MARK: Moves of a save

    /// Notes that an object, whose back-reference alone has given it another owner, moves between the owners' links.
    @usableFromInline func move(_ object: AnyObject, from old: Int?, to new: Int?) {
        if let old, old != new { moves[old, default: Moves()].leaving.insert(ObjectIdentifier(object)) }
        if let new { moves[new, default: Moves()].coming.append(object) }
    }

    /// Makes the links agree with the moves, as far as they are filled: each owner's once.
    func finishMoves() {
        defer { moves = [:] }
        for (owner, moves) in moves {
            guard let before = base[owner] else { continue }
            let leaving = before.filter { slot in
                link?.object(Int(slot)).map { moves.leaving.contains(ObjectIdentifier($0)) } ?? false
            }
            let coming = link == nil ? [] : moves.coming.filter { !before.contains(slotOf($0)) }
            if !leaving.isEmpty || !coming.isEmpty { link?.edit(owner, moves.leaving, coming) }
            base[owner] = before.filter { !leaving.contains($0) } + slots(of: coming)
        }
        // What back-references have moved lies where its row says.
        if link?.isOrdered == true { sort(Set(moves.keys)) }
    }

    // MARK: Reassigned children

    /// Takes an object whose row names another owner out of the link that held it, and puts it into that of the owner that it
    /// has now.
    func reassign(_ object: AnyObject, from old: Int?, to new: Int?) {
        guard case let slot = slotOf(object), slot >= 0, let link else { return }
        if let old, base[old]?.contains(slot) ?? false {
            base[old]?.removeAll { $0 == slot }
            link.edit(old, [ObjectIdentifier(object)], [])
        }
        guard let new, let before = base[new], !before.contains(slot) else { return }
        let now = link.linked(new)
        // A link to one that the app has not changed has another one now.
        guard link.isList || !isChanged(new, now) else { return }
        base[new] = link.isList ? before + [slot] : [slot]
        if !now.contains(where: { $0 === object }) { link.edit(new, [], [object]) }
    }

    /// Puts the links of owners whose objects have come or changed into their order, where the app has not edited them.
    func sort(_ owners: Set<Int>) {
        guard let link, link.isList else { return }
        for owner in owners {
            guard let slots = base[owner], case let now = self.slots(of: link.linked(owner)) else { continue }
            guard link.isOrdered ? now == slots : Set(now) == Set(slots) else { continue }
            link.sort(owner, slots)
            base[owner] = self.slots(of: link.linked(owner))
        }
    }

    // MARK: Keeping

    /// What owners held and objects named.
    struct Notes {
        fileprivate let base: [Int: [Int32]]
        fileprivate let named: ContiguousArray<Int32>
    }

    var notes: Notes { Notes(base: base, named: named) }

    func restore(_ notes: Notes?) {
        walk = nil
        (base, named) = (notes?.base ?? [:], notes?.named ?? [])
    }

    /// Numbers the slots of objects and of owners anew; what goes is forgotten.
    func renumber(_ objects: SlotNumbers, owners: SlotNumbers) {
        (walk, moves) = (nil, [:])
        base = owners.moved(base).mapValues { $0.compactMap { objects[Int($0)].map { Int32($0) } } }
        named = ContiguousArray(objects.moved(named).map { $0 < 0 ? -1 : owners[Int($0)].map { Int32($0) } ?? -1 })
    }
}

/// The link on the owners' side of a foreign key.
struct OwnerLink {
    /// Whether it holds many objects, not one.
    let isList: Bool
    /// Whether a column of the objects has the order of the list, so that another one is an edit.
    var isOrdered = false
    /// Takes objects from the link of an owner, and puts others into it.
    let edit: (_ owner: Int, _ leaving: Set<ObjectIdentifier>, _ coming: [AnyObject]) -> Void
    /// The owner that an object's row names, if the session has that.
    let owner: (_ row: UnsafeRawPointer) -> Int?
    /// What the link of an owner leads to; of one that is deleted, nothing.
    let linked: (_ owner: Int) -> [AnyObject]
    /// The object in a slot.
    let object: (_ slot: Int) -> AnyObject?
    /// Puts the objects of these slots into their order in the link of an owner.
    let sort: (_ owner: Int, _ slots: [Int32]) -> Void
}

/// The objects that the app has moved between owners' links, by slot.
struct OwnershipEdits {
    var taken: Set<Int32> = []
    var released: Set<Int32> = []

    func contains(_ slot: Int) -> Bool {
        let slot = Int32(truncatingIfNeeded: slot)
        return taken.contains(slot) || released.contains(slot)
    }
}

/// What the walk of one save finds of the owners of objects.
@usableFromInline final class OwnershipWalk {
    /// The owner that the walk found for each object; -1 for none.
    @exclusivity(unchecked) private var claims: ContiguousArray<Int32> = []
    /// The same for a walk of a few objects, whose cost must not depend on how many there are.
    private var fewClaims: [Int: Int32] = [:]
    /// What owners hold whose link has changed.
    private(set) var pending: [Int: [AnyObject]] = [:]
    /// The owners that a partial walk has visited; nil for a walk of everything.
    private(set) var visited: Set<Int>?
    /// The positions that objects get in the ordered links of their owners.
    var positions: [Int: Int] = [:]

    init(isPartial: Bool) { visited = isPartial ? [] : nil }

    /// Says that `owner` holds the object; answers another owner that does too.
    @usableFromInline func claim(_ object: Int, owner: Int) -> Int? {
        let other: Int
        if visited != nil {
            other = Int(fewClaims.updateValue(Int32(truncatingIfNeeded: owner), forKey: object) ?? -1)
        } else {
            while claims.count <= object { claims.append(-1) }
            other = Int(claims[object])
            claims[object] = Int32(truncatingIfNeeded: owner)
        }
        return other >= 0 && other != owner ? other : nil
    }

    @usableFromInline func owner(of object: Int) -> Int? {
        let claimed = visited == nil ? (object < claims.count ? claims[object] : -1) : fewClaims[object] ?? -1
        return claimed >= 0 ? Int(claimed) : nil
    }

    fileprivate func visit(_ owner: Int, changed objects: [AnyObject]?) {
        visited?.insert(owner)
        if let objects { pending[owner] = objects }
    }

    fileprivate func hasVisited(_ owner: Int) -> Bool { visited?.contains(owner) ?? true }
}

/// What a save asks while it walks.
extension InverseIndex {
    /// Notes what an owner holds now. What an unfilled link of a loaded owner holds is not all that it has.
    @usableFromInline func note(_ owner: Int, _ objects: [AnyObject], _ slots: [Int32], isNew: Bool) {
        let isPending = base[owner] == nil ? isNew : isChanged(owner, slots)
        walk?.visit(owner, changed: isPending ? objects : nil)
    }

    /// The owner whose link holds an object. Nobody knows outside a walk.
    @usableFromInline func owner(of object: Int) -> Int? { walk?.owner(of: object) }

    /// Whether `owner` held the object when its link was last filled, and, as no claim says otherwise, no longer does.
    @usableFromInline func hasLetGo(_ owner: Int, of object: Int) -> Bool {
        guard let walk, walk.hasVisited(owner) else { return false }
        return base[owner]?.contains(Int32(truncatingIfNeeded: object)) ?? false
    }
}
