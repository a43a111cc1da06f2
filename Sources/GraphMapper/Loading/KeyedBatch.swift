import Foundation

/// What one load has gathered of one DTO type, as far as neither the DTO's type nor that of its id matters.
///
/// Made for one load and thrown away with it.
@usableFromInline class AnyLoadBatch {
    @usableFromInline unowned final let load: Load
    @usableFromInline final let core: SessionCore
    /// The models of the DTO's table, by slot.
    @usableFromInline final let held: HeldModels
    /// What the source last answered, or a save last wrote, by slot.
    @usableFromInline final let snapshotRows: AnyRecordBuffer
    /// The DTOs of the load, by index.
    @usableFromInline final let incomingRows: AnyRecordBuffer
    /// Where the DTO's table stands among those of the session.
    @usableFromInline final let place: Int
    /// Whether the DTOs are not stored, but others of their model are.
    @usableFromInline final let isPayload: Bool

    // Exclusivity is not checked at run time for what the loops touch (the checks were a tenth of a load): no closure of a
    // mapping can reach a batch, and a session is confined to one task.

    /// Indices in the order in which their DTOs came.
    @exclusivity(unchecked) @usableFromInline final var arrived: ContiguousArray<Int32> = []
    /// For each entry of the mapping, the targets' indices, in the order of `arrived`.
    @exclusivity(unchecked) @usableFromInline final var edges: [ContiguousArray<Int32>]
    /// For each entry, how many of `arrived` have had their links followed: always the first ones.
    @exclusivity(unchecked) @usableFromInline final var followed: [Int]
    /// Slots of objects that the load leaves alone: new ones of the app's, whose rows turn out to be there.
    @exclusivity(unchecked) @usableFromInline final var untouched: Set<Int> = []
    /// The slot of each index, once its model is made.
    @exclusivity(unchecked) @usableFromInline final var slots: ContiguousArray<Int32> = []

    init<D: Mappable>(_ load: Load, _ table: EntityTable<D>)
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        let entryCount = table.mapping.steps.count
        self.load = load
        core = load.core
        held = table.held
        snapshotRows = table.snapshotRows
        incomingRows = RecordBuffer<D>()
        place = table.place
        isPayload = table.isPayload
        edges = Array(repeating: [], count: entryCount)
        followed = Array(repeating: 0, count: entryCount)
    }

    /// Calls `body` for each DTO of the load whose link, that of `entry`, the app has not changed since it was filled.
    ///
    /// - Parameter edges: where the edges of a DTO stand, which is asked of one DTO after the other.
    @inlinable @inline(__always)
    final func forEachToLink(
        _ entry: Int, _ isClean: (UnsafeRawPointer, AnyObject, SessionCore) throws -> Bool,
        edges: (UnsafeRawPointer) -> Range<Int>, body: (AnyObject, Range<Int>) throws -> Void
    ) throws {
        let (isPayload, core) = (isPayload, core)
        for index in arrived.prefix(followed[entry]) {
            let slot = Int(slots[Int(index)])
            let range = edges(incomingRows.address(Int(index)))
            guard let object = held.models[slot], untouched.isEmpty || !untouched.contains(slot) else { continue }
            if isPayload || snapshotRows.has(slot),
                try isPayload || !isClean(snapshotRows.address(slot), object, core),
                load.keepsLink(self, entry, slot, object)
            {
                continue
            }
            try body(object, range)
        }
    }
}

/// What a load does with ids alone, whatever its DTOs are. An app's module specialises it once for each type of id, and not
/// for each record.
@usableFromInline class KeyedBatch<ID: Storable & Hashable>: AnyLoadBatch {
    @usableFromInline final let identity: IdentityMap<ID>
    @usableFromInline final let name: String
    /// Where the id lies in a DTO; negative if ``readID`` has to be asked.
    @usableFromInline final let idOffset: Int
    @usableFromInline final let readID: (UnsafeRawPointer) -> ID
    /// Whether two DTOs store the same.
    @usableFromInline final let isSameDTO: (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    /// Makes a model; throws ``NotYet`` when one that it needs is not made.
    @usableFromInline final let makeModel: (UnsafeRawPointer, SessionCore) throws -> AnyObject
    /// What is done with a copy of what the load has, if anything is.
    @usableFromInline final let noteCopy: ((AnyLoadBatch, Int, UnsafeRawPointer) -> Void)?

    /// An id is given an index when it is first seen; its DTO may arrive later.
    @exclusivity(unchecked) @usableFromInline final var indices = IDIndex<ID>()
    @exclusivity(unchecked) @usableFromInline final var ids: ContiguousArray<ID> = []
    /// The ids that are to be fetched next.
    @exclusivity(unchecked) @usableFromInline final var wanted: [ID] = []
    /// The ids of the models that the load has made.
    @exclusivity(unchecked) @usableFromInline final var made: [ID] = []
    /// Indices whose models wait for others that they need.
    @exclusivity(unchecked) @usableFromInline final var waiting: [Int32] = []
    /// The first index whose model the load has not tried to make.
    @exclusivity(unchecked) @usableFromInline final var nextToMake = 0
    /// Whether copies of one object differ.
    @exclusivity(unchecked) @usableFromInline final var differing = false

    init<D: Mappable>(
        _ load: Load, _ table: EntityTable<D>, _ noteCopy: ((AnyLoadBatch, Int, UnsafeRawPointer) -> Void)?
    ) where D.ID == ID, D.Row == D, D.Model: AnyObject {
        identity = table.identity
        name = D.schema.name
        (idOffset, readID, isSameDTO, makeModel) = (table.idOffset, table.readID, table.isSameDTO, table.makeModel)
        self.noteCopy = noteCopy
        super.init(load, table)
    }

    // MARK: Gathering

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
            if let noteCopy { noteCopy(self, Int(index), dto) }
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

    /// The ids of the DTOs that came as `range`.
    @inlinable final func arrivedIDs(_ range: Range<Int>) -> [ID] {
        var ids: [ID] = []
        ids.reserveCapacity(range.count)
        for place in range { ids.append(self.ids[Int(arrived[place])]) }
        return ids
    }

    // MARK: Materialising

    /// Makes and registers what is new among the indices before `end`, as far as what it needs is there; true if any was.
    @inlinable final func makeEach(before end: Int) throws -> Bool {
        let earlier = waiting
        waiting = []
        for index in earlier { try make(index) }
        let isProgress = waiting.count < earlier.count || nextToMake < end
        while nextToMake < end {
            let index = Int32(truncatingIfNeeded: nextToMake)
            nextToMake += 1
            try make(index)
        }
        return isProgress
    }

    @inlinable @inline(__always) final func make(_ index: Int32) throws {
        let id = ids[Int(index)]
        if let slot = identity.slot(id) {
            slots[Int(index)] = Int32(truncatingIfNeeded: slot)
            return
        }
        guard incomingRows.has(Int(index)) else { throw dangling(id) }
        if IDKey(id) != IDKey(id) { throw unequal(id) }
        do {
            let model = try makeModel(incomingRows.address(Int(index)), core)
            slots[Int(index)] = Int32(truncatingIfNeeded: identity.register(id, model))
            made.append(id)
        } catch is NotYet {
            waiting.append(index)
        }
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

    /// A key that is not equal to itself can never be found again.
    @usableFromInline final func unequal(_ id: ID) -> GraphError {
        GraphError(
            .misuse, "\(id) is no key, since it is not equal to itself; give the object another", type: name,
            id: "\(id)")
    }

    @usableFromInline final func dangling(_ id: ID) -> GraphError {
        GraphError(
            .dangling, "it is referred to, but the source has no such object", type: name, id: "\(id)",
            path: indices[id].flatMap { load.path(to: self, $0) })
    }
}
