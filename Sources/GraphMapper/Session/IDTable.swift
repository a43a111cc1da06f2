import Foundation

/// What a table does with ids alone, whatever its DTOs are. An app's module specialises it once for each type of id, and not
/// for each record.
public class IDTable<ID: Storable & Hashable>: AnyTable {
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
    /// Whether copies of what the load has are looked at.
    @usableFromInline final let keepsCopies: Bool

    // The load under way. An id is given an index when it is first seen; its DTO may arrive later.
    @exclusivity(unchecked) @usableFromInline final var indices = IDIndex<ID>()
    @exclusivity(unchecked) @usableFromInline final var ids: ContiguousArray<ID> = []
    @exclusivity(unchecked) @usableFromInline final var wanted: [ID] = []
    @exclusivity(unchecked) @usableFromInline final var made: [ID] = []
    @exclusivity(unchecked) @usableFromInline final var differing = false
    /// New objects that the walk under way has found.
    @exclusivity(unchecked) @usableFromInline final var found: [ID] = []

    init<D: Mappable>(_ mapping: Mapping<D>, _ identity: IdentityMap<ID>, _ core: SessionCore)
    where D.ID == ID, D.Row == D, D.Model: AnyObject {
        self.identity = identity
        let (isSame, key) = (mapping.isSame, D.schema.key)
        idOf = mapping.idOf
        isSameDTO = { isSame($0.assumingMemoryBound(to: D.self), $1.assumingMemoryBound(to: D.self)) }
        readID = { $0.assumingMemoryBound(to: D.self).pointee.id }
        idOffset = key.flatMap { $0.type == ID.self ? MemoryLayout<D>.offset(of: $0.path) : nil } ?? -1
        makeModel = mapping.make
        keepsCopies = mapping.hasNested || mapping.hasGaps
        super.init(core, identity, Rows<D>(), Rows<D>())
    }

    /// What the DTO's own table does with a copy of what the load has.
    @usableFromInline func noteCopy(_ index: Int, _ dto: UnsafeRawPointer) {}
    @usableFromInline func dangling(_ id: ID) -> GraphError { GraphError(.dangling, "\(id)") }
    @usableFromInline func twoInstances(_ model: AnyObject) -> GraphError { GraphError(.conflict, name) }
    @usableFromInline func checkClass(_ model: AnyObject) throws {}
    @usableFromInline func follow(_ model: AnyObject) {}

    // MARK: Loading

    @inlinable @inline(__always) final func id(of dto: UnsafeRawPointer) -> ID {
        idOffset < 0 ? readID(dto) : (dto + idOffset).assumingMemoryBound(to: ID.self).pointee
    }

    /// Takes a DTO into the load and answers its index. An equal copy merges silently; one that differs is a
    /// conflict, raised once everything is gathered.
    @inlinable @discardableResult final func offer(_ dto: UnsafeRawPointer) -> Int32 { offer(dto, as: id(of: dto)) }

    /// The same for a DTO that may not know its id.
    @inlinable @inline(__always) @discardableResult
    final func offer(_ dto: UnsafeRawPointer, as id: ID) -> Int32 {
        let new = Int32(truncatingIfNeeded: ids.count)
        let index = indices.number(of: id, orInsert: new)
        if index == new {
            ids.append(id)
        } else if incomingRows.has(Int(index)) {
            if !differing, !isSame(Int(index), dto) { differing = true }
            if keepsCopies { noteCopy(Int(index), dto) }
            return index
        }
        incomingRows.put(dto, at: Int(index))
        arrived.append(index)
        return index
    }

    @inlinable @inline(__always) final func isSame(_ index: Int, _ copy: UnsafeRawPointer) -> Bool {
        let known = incomingRows.address(index)
        // Most copies share the storage of their strings and arrays, and then all bytes are the same.
        return memcmp(known, copy, incomingRows.size) == 0 || isSameDTO(known, copy)
    }

    /// Takes DTOs in that lie side by side, and most often are new.
    @inlinable final func offer(_ dtos: UnsafeRawPointer, count: Int) {
        if ids.isEmpty {
            indices.reserveCapacity(count)
            ids.reserveCapacity(count)
            arrived.reserveCapacity(count)
            incomingRows.reserve(count)
        }
        for index in 0..<count { offer(dtos + index &* incomingRows.stride) }
    }

    /// Asks for the DTO with this id, unless it is here, and answers its index.
    @inlinable @discardableResult final func want(_ id: ID) -> Int32 {
        let new = Int32(truncatingIfNeeded: ids.count)
        // Most often it is: to look costs less than to get ready to write.
        let index = indices[id] ?? new
        if index == new {
            indices[id] = new
            ids.append(id)
            wanted.append(id)
        }
        return index
    }

    /// Makes and registers what is new, as far as what it needs is there; true if any was.
    @inlinable final func makeEach() throws -> Bool {
        var waiting: [Int32] = []
        let core = core
        for index in unmade {
            let id = ids[Int(index)]
            if let slot = identity.slot(id) {
                slots[Int(index)] = Int32(truncatingIfNeeded: slot)
                continue
            }
            guard incomingRows.has(Int(index)) else { throw dangling(id) }
            do {
                let model = try makeModel(incomingRows.address(Int(index)), core)
                slots[Int(index)] = Int32(truncatingIfNeeded: identity.register(id, model))
                made.append(id)
            } catch is NotYet {
                waiting.append(index)
            }
        }
        let isProgress = waiting.count < unmade.count
        unmade = waiting
        return isProgress
    }

    /// The objects of DTOs that lie side by side.
    @inlinable final func objects(of dtos: UnsafeRawPointer, count: Int) throws -> [AnyObject] {
        var objects: [AnyObject] = []
        objects.reserveCapacity(count)
        for index in 0..<count {
            let id = id(of: dtos + index &* incomingRows.stride)
            guard let slot = identity.slot(id), let object = identity.models[slot] else { throw dangling(id) }
            objects.append(object)
        }
        return objects
    }

    /// The object of an edge: one of this load, or one that the session had.
    @inlinable @inline(__always) final func linkedObject(_ edge: Int32) throws -> AnyObject {
        guard let object = identity.models[Int(slots[Int(edge)])] else { throw dangling(ids[Int(edge)]) }
        return object
    }

    /// The ids of the DTOs that came as `range`.
    @inlinable final func arrivedIDs(_ range: Range<Int>) -> [ID] {
        var ids: [ID] = []
        ids.reserveCapacity(range.count)
        for place in range { ids.append(self.ids[Int(arrived[place])]) }
        return ids
    }

    // MARK: Writing back

    /// The slot of the id that a model has.
    @inlinable final func slotOfID(_ model: AnyObject) -> Int? { identity.slot(idOf(model)) }

    /// The slot of a model that the session knows.
    @inlinable final func knownSlot(of model: AnyObject) -> Int? {
        guard let slot = identity.slot(idOf(model)), identity.models[slot] === model else { return nil }
        return slot
    }

    /// The slot of a model, which becomes a new object if the session does not know it.
    @inlinable @discardableResult final func slot(of model: AnyObject) throws -> Int {
        if !identity.dropped.isEmpty, identity.dropped[ObjectIdentifier(model)] != nil { return -1 }
        let id = idOf(model)
        if let slot = identity.slot(id) {
            if identity.models[slot] === model { return slot }
            if !identity.evicted.isEmpty, identity.isEvicted(model) { return -1 }
            throw twoInstances(model)
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
        // Deleted while the save waited: that is for the next one.
        if !identity.dropped.isEmpty, identity.dropped.removeValue(forKey: ObjectIdentifier(model)) != nil {
            identity.deleted.insert(slot)
        }
        grow(to: slot + 1)
        snapshotRows.put(dto, at: slot)
        filled[slot] = .max
        follow(model)
        return slot
    }
}

/// The loops over ids, as closures. A mapping forms them where the type of its id is known, so that they are specialised: a
/// method of a generic class that is called through ``AnyTable`` never is.
@usableFromInline struct Passes<ID: Storable & Hashable> {
    @usableFromInline let make: (IDTable<ID>) throws -> Bool
    @usableFromInline let offer: (IDTable<ID>, UnsafeRawPointer, Int) -> Void
    @usableFromInline let objects: (IDTable<ID>, UnsafeRawPointer, Int) throws -> [AnyObject]
    @usableFromInline let arrivedIDs: (IDTable<ID>, Range<Int>) -> [ID]
    @usableFromInline let slot: (IDTable<ID>, AnyObject) -> Int?
    @usableFromInline let enter: (IDTable<ID>, AnyObject) throws -> Int
    @usableFromInline let forgetFound: (IDTable<ID>) -> Void
    @usableFromInline let noteStored: (IDTable<ID>, UnsafeRawPointer, AnyObject, Int) -> Int

    // Never inlined, so that the records of a module share it.
    @inlinable @inline(never) init() {
        make = { try $0.makeEach() }
        offer = { $0.offer($1, count: $2) }
        objects = { try $0.objects(of: $1, count: $2) }
        arrivedIDs = { $0.arrivedIDs($1) }
        slot = { $0.slotOfID($1) }
        enter = { try $0.slot(of: $1) }
        forgetFound = { $0.forgetFoundIDs() }
        noteStored = { $0.noteStored($1, $2, $3) }
    }
}
