import Foundation

/// An id as a key of a hash table. A UUID is hashed as one word, which is a third of the cost of its sixteen bytes.
@frozen @usableFromInline struct IDKey<ID: Hashable>: Hashable {
    @usableFromInline let id: ID
    @inlinable @inline(__always) init(_ id: ID) { self.id = id }

    @inlinable @inline(__always) static func == (left: Self, right: Self) -> Bool {
        if ID.self == UUID.self {
            let left = words(left.id)
            let right = words(right.id)
            return left.0 == right.0 && left.1 == right.1
        }
        return left.id == right.id
    }

    @inlinable @inline(__always) func hash(into hasher: inout Hasher) {
        if ID.self == UUID.self {
            let words = Self.words(id)
            hasher.combine(words.0 ^ words.1 &* 0x9e37_79b9_7f4a_7c15)
        } else {
            hasher.combine(id)
        }
    }

    @inlinable @inline(__always) static func words(_ id: ID) -> (UInt64, UInt64) {
        withUnsafeBytes(of: id) { $0.loadUnaligned(as: (UInt64, UInt64).self) }
    }
}

/// An object that may be gone.
@usableFromInline final class WeakReference {
    weak var object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
}

/// One instance per id of one model type: the slot of each id, and the instances by slot.
///
/// Every DTO type that becomes this model shares it.
@usableFromInline final class IdentityMap<ID: Hashable> {
    @exclusivity(unchecked) @usableFromInline var slots: [IDKey<ID>: Int] = [:]
    @exclusivity(unchecked) @usableFromInline var models: ContiguousArray<AnyObject?> = []
    /// Slots whose objects are to be deleted with the next save.
    @usableFromInline var deleted: Set<Int> = []
    /// Deleted objects that were never stored.
    @usableFromInline var dropped: [ObjectIdentifier: AnyObject] = [:]

    /// Objects that the app has let the session forget, but may still link to.
    @usableFromInline var evicted: [ObjectIdentifier: WeakReference] = [:]
    private var evictedLimit = 64

    init() {}

    /// Whether the object was evicted: its row is there, and links to it are links by id.
    @usableFromInline func isEvicted(_ model: AnyObject) -> Bool {
        evicted[ObjectIdentifier(model)]?.object === model
    }

    func evict(_ model: AnyObject) {
        if evicted.count >= evictedLimit {
            evicted = evicted.filter { $0.value.object != nil }
            evictedLimit = max(64, evicted.count * 2)
        }
        evicted[ObjectIdentifier(model)] = WeakReference(model)
    }

    @inlinable func slot(_ id: ID) -> Int? { slots[IDKey(id)] }

    @inlinable func register(_ id: ID, _ model: AnyObject) -> Int {
        let slot = models.count
        slots[IDKey(id)] = slot
        models.append(model)
        return slot
    }

    /// Registers under this slot, if it is free.
    func register(_ id: ID, _ model: AnyObject, at slot: Int) -> Int {
        while models.count <= slot { models.append(nil) }
        guard models[slot] == nil else { return register(id, model) }
        slots[IDKey(id)] = slot
        models[slot] = model
        return slot
    }

    /// - Parameter isStored: whether anything is kept by the slot, which then is never used again.
    func remove(_ id: ID, isStored: Bool = false) {
        guard let slot = slots.removeValue(forKey: IDKey(id)) else { return }
        deleted.remove(slot)
        if slot == models.count - 1, !isStored { models.removeLast() } else { models[slot] = nil }
    }

    func reserve(_ count: Int) {
        slots.reserveCapacity(slots.count + count)
        models.reserveCapacity(models.count + count)
    }
}
