/// Who holds the objects of one type by one foreign key: what the forward sides say. Owners and objects are slots.
@usableFromInline final class InverseIndex {
    /// The owner that this walk found for each object; -1 for none.
    @usableFromInline var claims: ContiguousArray<Int32> = []
    /// What each loaded owner's link held when it was last filled or saved.
    @usableFromInline var held: [Int: [ObjectIdentifier]] = [:]
    /// The owner that each object's back-reference was last set to by the session; -1 for none.
    @usableFromInline var named: ContiguousArray<Int32> = []
    /// Takes objects from the link of an owner, and puts others into it; set by the forward side, if there is one.
    var edit: ((_ owner: Int, _ leaving: Set<ObjectIdentifier>, _ coming: [AnyObject]) -> Void)?
    /// The owner that an object's row names, if the session has that; set by the forward side, if there is one.
    var owner: ((_ row: UnsafeRawPointer) -> Int?)?
    /// What the link of an owner leads to; of one that is deleted, nothing.
    var linked: ((_ owner: Int) -> [AnyObject])?
    /// Whether an owner's link holds many objects, not one.
    var isList = true
    /// What the save that is being settled moves, by owner.
    var moves: [Int: Moves] = [:]
    /// What it holds now, for the owners whose link changed; becomes `held` when the save succeeds.
    private(set) var pending: [Int: [ObjectIdentifier]] = [:]
    private(set) var isWalked = false
    /// The owners that a partial walk has visited; nil for a walk of everything.
    var visited: Set<Int>?

    /// Objects that leave the link of an owner, and those that come, in order.
    struct Moves {
        var leaving: Set<ObjectIdentifier> = []
        var coming: [AnyObject] = []
    }

    init() {}

    func startWalk() {
        endWalk()
        pending.removeAll(keepingCapacity: true)
        isWalked = true
    }

    /// Claims are worth something only while the walk that made them is the latest word.
    func endWalk() {
        claims.removeAll(keepingCapacity: true)
        isWalked = false
        visited = nil
    }

    func forgetAll() {
        endWalk()
        (held, named, pending, moves) = ([:], [], [:], [:])
    }

    /// - Parameter saved: what was pending when the save began; another walk may have gone by since.
    func commit(_ saved: [Int: [ObjectIdentifier]]) { held.merge(saved) { $1 } }

    @usableFromInline func fill(_ owner: Int, _ objects: [AnyObject]) {
        held[owner] = objects.map(ObjectIdentifier.init)
    }

    @usableFromInline func isChanged(_ owner: Int, _ objects: [AnyObject]) -> Bool {
        guard let known = held[owner] else { return false }
        if known.elementsEqual(objects.lazy.map(ObjectIdentifier.init)) { return false }
        // A foreign key keeps no order, and a set has one of its own.
        return Set(known) != Set(objects.map(ObjectIdentifier.init))
    }

    /// Notes what an owner holds now. What an unfilled link of a loaded owner holds is not all that it has.
    @usableFromInline func note(_ owner: Int, _ objects: [AnyObject], isNew: Bool) {
        visited?.insert(owner)
        if held[owner] == nil ? isNew : isChanged(owner, objects) {
            pending[owner] = objects.map(ObjectIdentifier.init)
        }
    }

    /// Says that `owner` holds the object; answers another owner that does too.
    @inlinable func claim(_ object: Int, owner: Int) -> Int? {
        while claims.count <= object { claims.append(-1) }
        let other = Int(claims[object])
        claims[object] = Int32(truncatingIfNeeded: owner)
        return other >= 0 && other != owner ? other : nil
    }

    @inlinable func owner(of object: Int) -> Int? {
        object < claims.count && claims[object] >= 0 ? Int(claims[object]) : nil
    }

    /// Whether `owner` held the object when its link was last filled, and, as no claim says otherwise, no longer
    /// does. Nobody knows outside a walk.
    @usableFromInline func hasLetGo(_ owner: Int, of object: AnyObject) -> Bool {
        isWalked && visited?.contains(owner) ?? true && held[owner]?.contains(ObjectIdentifier(object)) ?? false
    }
}
