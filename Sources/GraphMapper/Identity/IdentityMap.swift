import Foundation

/// An id as a key of a hash table. UUIDs and integers are mixed by one multiplication, a tenth of the cost of the
/// standard library's hasher.
///
/// Two ids are one if they are stored alike: spellings of one accented letter, which Swift takes for equal, are two keys of
/// a table.
@frozen @usableFromInline struct IDKey<ID: Storable & Hashable>: Hashable {
    @usableFromInline let id: ID
    @inlinable @inline(__always) init(_ id: ID) { self.id = id }

    @inlinable @inline(__always) static func == (left: Self, right: Self) -> Bool {
        if ID.self == UUID.self {
            let left = words(left.id)
            let right = words(right.id)
            return left.0 == right.0 && left.1 == right.1
        }
        return left.id == right.id && ID.isSame(left.id, right.id)
    }

    @inlinable func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// The one place where a hash table asks for a hash.
    @inlinable @inline(__always) func _rawHashValue(seed: Int) -> Int {
        let words: (UInt64, UInt64)
        if ID.self == UUID.self {
            words = Self.words(id)
        } else if ID.self == Int.self {
            words = (UInt64(truncatingIfNeeded: withUnsafeBytes(of: id) { $0.load(as: Int.self) }), 0)
        } else {
            return id._rawHashValue(seed: seed)
        }
        return HashKeys.mixed(words.0, words.1, seed: seed)
    }

    @inlinable @inline(__always) static func words(_ id: ID) -> (UInt64, UInt64) {
        withUnsafeBytes(of: id) { $0.loadUnaligned(as: (UInt64, UInt64).self) }
    }
}

/// A type as a key of a hash table: links ask for their targets' table once an object.
@frozen @usableFromInline struct TypeKey: Hashable {
    @usableFromInline let type: ObjectIdentifier
    @inlinable init(_ type: Any.Type) { self.type = ObjectIdentifier(type) }

    /// Types' addresses come from nobody's data: mixing them well is enough.
    @inlinable func _rawHashValue(seed: Int) -> Int {
        let word = UInt64(UInt(bitPattern: type)) ^ UInt64(truncatingIfNeeded: seed)
        let product = word.multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
        return Int(truncatingIfNeeded: product.high ^ product.low)
    }
}

/// What hashes of ids are mixed with: random for each process, so that nobody can make up ids that collide.
@usableFromInline package enum HashKeys {
    // Safe: set once, before the first table of ids is made, and whoever makes one has waited for that. A constant that is
    // made when it is first used would be asked at every look-up whether it is made, which was a sixth of one.
    @usableFromInline nonisolated(unsafe) static var keys: (UInt64, UInt64) = (0, 1)

    private static let isRandom: Bool = {
        // The second is odd, so that no difference of the first words is lost.
        keys = (.random(in: .min ... .max), .random(in: .min ... .max) | 1)
        return true
    }()

    /// Called by what makes tables of ids.
    package static func randomize() { _ = isRandom }

    @inlinable @inline(__always) package static func mixed(_ first: UInt64, _ second: UInt64, seed: Int) -> Int {
        let product = (first ^ keys.0 ^ UInt64(truncatingIfNeeded: seed)).multipliedFullWidth(by: second ^ keys.1)
        return Int(truncatingIfNeeded: product.high ^ product.low)
    }
}

/// An object that may be gone.
@usableFromInline final class WeakReference {
    weak var object: AnyObject?
    /// The slot that an evicted object had.
    fileprivate(set) var slot = -1
    init(_ object: AnyObject) { self.object = object }
}

/// The models of one type that a session holds, by slot.
@usableFromInline class HeldModels {
    @exclusivity(unchecked) @usableFromInline final var models: ContiguousArray<AnyObject?> = []
    /// Slots whose objects are to be deleted with the next save.
    @exclusivity(unchecked) @usableFromInline final var deleted: Set<Int> = []
    /// Slots whose objects the save under way does not delete, whatever rules say: another writer has changed them.
    final var spared: Set<Int> = []
    /// Deleted objects in whose places others were added since the last save, by slot.
    final var replaced: [Int: AnyObject] = [:]
    /// Deleted objects that were never stored.
    @exclusivity(unchecked) @usableFromInline final var dropped: [ObjectIdentifier: AnyObject] = [:]

    /// Objects that the app has let the session forget, but may still link to.
    @usableFromInline final var evicted: [ObjectIdentifier: WeakReference] = [:]
    private final var evictedLimit = 64

    init() {}

    /// Whether the object was evicted: its row is there, and links to it are links by id.
    @usableFromInline final func isEvicted(_ model: AnyObject) -> Bool {
        evicted[ObjectIdentifier(model)]?.object === model
    }

    /// The objects that were evicted and are still there.
    final var evictedModels: [AnyObject] { evicted.values.compactMap(\.object) }

    /// The slot that an evicted object had; nil for others.
    final func evictedSlot(_ model: AnyObject) -> Int? {
        guard let known = evicted[ObjectIdentifier(model)], known.object === model, known.slot >= 0 else { return nil }
        return known.slot
    }

    final func evict(_ model: AnyObject, from slot: Int) {
        if evicted.count >= evictedLimit {
            evicted = evicted.filter { $0.value.object != nil }
            evictedLimit = max(64, evicted.count * 2)
        }
        let reference = WeakReference(model)
        reference.slot = slot
        evicted[ObjectIdentifier(model)] = reference
    }

    /// Numbers the slots anew; those of objects that were evicted and are still there count as used.
    final func numberSlots() -> SlotNumbers {
        var numbers = SlotNumbers()
        let kept = Set(evicted.values.compactMap { $0.object == nil ? nil : $0.slot })
        for (slot, model) in models.enumerated() { numbers.append(isUsed: model != nil || kept.contains(slot)) }
        models = numbers.moved(models)
        deleted = numbers.moved(deleted)
        replaced = numbers.moved(replaced)
        for reference in evicted.values { reference.slot = numbers[reference.slot] ?? -1 }
        return numbers
    }

    /// The slots whose objects nothing else refers to.
    final func slotsHeldOnlyHere() -> [Int] {
        models.withUnsafeMutableBufferPointer { models in
            models.indices.filter { isKnownUniquelyReferenced(&models[$0]) }
        }
    }
}

/// One instance per id of one model type: the slot of each id, and the instances by slot.
///
/// Every DTO type that becomes this model shares it.
@usableFromInline final class IdentityMap<ID: Storable & Hashable>: HeldModels {
    @exclusivity(unchecked) @usableFromInline var slots = IDIndex<ID>()

    @inlinable func slot(_ id: ID) -> Int? { slots[id].map { Int($0) } }

    @inlinable func register(_ id: ID, _ model: AnyObject) -> Int {
        let slot = models.count
        slots[id] = Int32(truncatingIfNeeded: slot)
        models.append(model)
        return slot
    }

    /// Registers under this slot, if it is free.
    @inlinable func register(_ id: ID, _ model: AnyObject, at slot: Int) -> Int {
        while models.count <= slot { models.append(nil) }
        guard models[slot] == nil else { return register(id, model) }
        slots[id] = Int32(truncatingIfNeeded: slot)
        models[slot] = model
        return slot
    }

    /// - Parameter isStored: whether anything is kept by the slot, which then is never used again.
    @inlinable func remove(_ id: ID, isStored: Bool = false) {
        guard let slot = slot(id) else { return }
        slots.remove(id)
        if !deleted.isEmpty { deleted.remove(slot) }
        if slot == models.count - 1, !isStored { models.removeLast() } else { models[slot] = nil }
    }

    func reserve(_ count: Int) {
        slots.reserveCapacity(slots.count + count)
        models.reserveCapacity(models.count + count)
    }
}
