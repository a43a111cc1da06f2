import Foundation

/// What a table does with ids alone, whatever its DTOs are. An app's module specialises it once for each type of id, and not
/// for each record.
@usableFromInline class KeyedTable<ID: Storable & Hashable>: TableState {
    @usableFromInline final let identity: IdentityMap<ID>
    /// The id that a model has.
    @usableFromInline final let idOf: (AnyObject) -> ID
    /// Where the id lies in a DTO; negative if ``readID`` has to be asked.
    @usableFromInline final let idOffset: Int
    @usableFromInline final let readID: (UnsafeRawPointer) -> ID
    /// Whether two DTOs store the same.
    @usableFromInline final let isSameDTO: (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    /// Makes a model; throws ``NotYet`` when one that it needs is not made.
    @usableFromInline final let makeModel: (UnsafeRawPointer, SessionCore) throws -> AnyObject
    /// The places of deleted objects that the walk under way has given to others, and those whose links it has yet to visit.
    @exclusivity(unchecked) final var takenPlaces: [TakenPlace] = []
    @exclusivity(unchecked) final var unvisited: [Int] = []
    /// New objects that the walk under way has found.
    @exclusivity(unchecked) @usableFromInline final var found: [ID] = []

    init<D: Mappable>(_ mapping: Mapping<D>, _ identity: IdentityMap<ID>, _ core: SessionCore, place: Int)
    where D.ID == ID, D.Row == D, D.Model: AnyObject {
        self.identity = identity
        let (isSame, key) = (mapping.isSame, D.schema.key)
        idOf = mapping.idOf
        isSameDTO = { isSame($0.assumingMemoryBound(to: D.self), $1.assumingMemoryBound(to: D.self)) }
        readID = { $0.assumingMemoryBound(to: D.self).pointee.id }
        idOffset = key.flatMap { $0.type == ID.self ? MemoryLayout<D>.offset(of: $0.path) : nil } ?? -1
        makeModel = mapping.make
        super.init(core, identity, RecordBuffer<D>(), place: place)
    }

    // What depends on the DTO's type is asked of the table itself.

    @usableFromInline final func twoInstances(_ model: AnyObject) -> GraphError {
        core.order[place].claimedTwice(model)
    }
    @usableFromInline final func checkClass(_ model: AnyObject) throws { try core.order[place].checkNew(model) }
    @usableFromInline final func follow(_ model: AnyObject) { core.order[place].trackObject(model) }

    @inlinable @inline(__always) final func id(of dto: UnsafeRawPointer) -> ID {
        idOffset < 0 ? readID(dto) : (dto + idOffset).assumingMemoryBound(to: ID.self).pointee
    }

    // MARK: Writing back

    /// The slot of the id that a model has.
    @inlinable final func slotOfID(_ model: AnyObject) -> Int? { identity.slot(idOf(model)) }

    /// The slot of a model that the session knows.
    @inlinable final func knownSlot(of model: AnyObject) -> Int? {
        guard let slot = identity.slot(idOf(model)), identity.models[slot] === model else { return nil }
        return slot
    }

    /// The slot that a model has, or had before it was evicted; -1 for one that the session does not know.
    final func slotOrEvicted(_ model: AnyObject) -> Int { knownSlot(of: model) ?? identity.evictedSlot(model) ?? -1 }

    /// The slot of a model, which becomes a new object if the session does not know it.
    @inlinable @discardableResult final func slot(of model: AnyObject) throws -> Int {
        if !identity.dropped.isEmpty, identity.dropped[ObjectIdentifier(model)] != nil { return -1 }
        let id = idOf(model)
        if let slot = identity.slot(id) {
            if identity.models[slot] === model { return slot }
            if !identity.evicted.isEmpty, identity.isEvicted(model) { return -1 }
            return try takePlace(slot, model)
        }
        if !identity.evicted.isEmpty, identity.isEvicted(model) { return -1 }
        try checkClass(model)
        found.append(id)
        return identity.register(id, model)
    }

    /// Forgets the new objects that the walk has found, the last one first, so that their slots are free again.
    @inlinable final func forgetFoundIDs() {
        for id in found.reversed() { identity.remove(id) }
        found = []
    }

    @inlinable final var hasNoDeletions: Bool { identity.deleted.isEmpty && identity.dropped.isEmpty }

    /// Another instance under the key of a deleted object is not deleted, unless it was evicted.
    @inlinable final func isDeleted(_ model: AnyObject) -> Bool {
        !identity.deleted.isEmpty && isHeldDeleted(model)
            || !identity.dropped.isEmpty && identity.dropped[ObjectIdentifier(model)] != nil
    }

    @usableFromInline final func isHeldDeleted(_ model: AnyObject) -> Bool {
        guard let slot = identity.slot(idOf(model)), identity.deleted.contains(slot) else { return false }
        return identity.models[slot] === model || identity.isEvicted(model)
    }

    @inlinable final func isDeleted(id: ID) -> Bool {
        guard !identity.deleted.isEmpty, let slot = identity.slot(id) else { return false }
        return identity.deleted.contains(slot)
    }

    /// Notes that an object's DTO is stored.
    ///
    /// - Parameter walked: the slot that the walk gave the object.
    @inlinable @discardableResult
    final func noteStored(_ dto: UnsafeRawPointer, _ model: AnyObject, _ walked: Int) -> Int {
        let id = id(of: dto)
        let slot = identity.slot(id) ?? identity.register(id, model, at: walked)
        grow(to: slot + 1)
        snapshotRows.put(dto, at: slot)
        filled[slot] = .max
        follow(model)
        return slot
    }
}

/// The loops over ids, as closures. A mapping forms them where the type of its id is known, so that they are specialised: a
/// method of a generic class that is called through ``TableState`` never is.
@usableFromInline struct Passes<ID: Storable & Hashable> {
    @usableFromInline let make: (KeyedBatch<ID>, Int) throws -> Bool
    @usableFromInline let offer: (KeyedBatch<ID>, UnsafeRawPointer, Int) -> Void
    @usableFromInline let objects: (KeyedBatch<ID>, UnsafeRawPointer, Int) throws -> [AnyObject]
    @usableFromInline let arrivedIDs: (KeyedBatch<ID>, Range<Int>) -> [ID]
    @usableFromInline let slot: (KeyedTable<ID>, AnyObject) -> Int?
    @usableFromInline let enter: (KeyedTable<ID>, AnyObject) throws -> Int
    /// Whether the id of an object is equal to itself.
    @usableFromInline let isKey: (KeyedTable<ID>, AnyObject) -> Bool
    /// Every way to its id answers an object from the moment it is added.
    @usableFromInline let register: (KeyedTable<ID>, AnyObject) -> Int
    @usableFromInline let forgetFound: (KeyedTable<ID>) -> Void
    @usableFromInline let noteStored: (KeyedTable<ID>, UnsafeRawPointer, AnyObject, Int) -> Int

    // Never inlined, so that the records of a module share it.
    @inlinable @inline(never) init() {
        make = { try $0.makeEach(before: $1) }
        offer = { $0.offer($1, count: $2) }
        objects = { try $0.objects(of: $1, count: $2) }
        arrivedIDs = { $0.arrivedIDs($1) }
        slot = { $0.slotOfID($1) }
        enter = { try $0.slot(of: $1) }
        isKey = {
            let id = $0.idOf($1)
            return IDKey(id) == IDKey(id)
        }
        register = { $0.identity.register($0.idOf($1), $1) }
        forgetFound = { $0.forgetFoundIDs() }
        noteStored = { $0.noteStored($1, $2, $3) }
    }
}
