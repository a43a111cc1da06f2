/// What loads and saves do for a link by id, whatever its DTOs and models are: loops over addresses and objects. An app's
/// module specialises them once for each type of id, and not for each link.
@usableFromInline struct IDLink {
    @usableFromInline let gather: (AnyLoadBatch, Range<Int>, Int, Load) throws -> Void
    @usableFromInline let link: (AnyLoadBatch, Int, Load) throws -> Void
    @usableFromInline let isClean: (UnsafeRawPointer, AnyObject, SessionCore) throws -> Bool
    @usableFromInline let visit: (AnyObject, Int, SessionCore) throws -> Void
    @usableFromInline let answer: (AnyObject, SessionCore, Answers) throws -> Void
    /// Appends the stored values of the link in a DTO; nil for one that lies in a column, which the schema encodes.
    @usableFromInline let encode: ((UnsafeRawPointer, inout [StoredValue]) -> Void)?

    /// A link to one object.
    ///
    /// - Parameters:
    ///   - missing: what is wrong if the link is nil and may not be.
    @inlinable @inline(never)
    init<ID: Storable & Hashable>(
        _ target: LinkedType, _ place: OnePlace<ID>, get: @escaping (AnyObject) -> AnyObject?,
        set: @escaping (AnyObject, AnyObject?) -> Void, missing: (() -> any Error)?
    ) {
        let isClean: (UnsafeRawPointer, AnyObject, SessionCore) throws -> Bool = { dto, object, core in
            let targets: KeyedTable<ID> = try core.table(target)
            let stored = place.id(dto)
            guard let target = get(object), !targets.isDeleted(target) else { return stored == nil }
            guard let stored else { return false }
            return IDKey(stored) == IDKey(targets.idOf(target))
        }
        self.isClean = isClean
        gather = { batch, range, step, load in
            let targets: KeyedBatch<ID> = try load.batch(target)
            // A type that links to itself grows its rows by the targets, but adds no DTO while it is followed.
            for index in range {
                if let id = place.id(batch.incomingRows.address(Int(batch.arrived[index]))) {
                    let edge = targets.want(id)
                    batch.edges[step].append(edge)
                }
            }
        }
        link = { batch, step, load in
            let targets: KeyedBatch<ID> = try load.batch(target)
            let edges = batch.edges[step]
            var next = 0
            try batch.forEachToLink(step, isClean) { dto in
                let start = next
                if place.id(dto) != nil { next += 1 }
                return start..<next
            } body: { object, edge in
                set(object, edge.isEmpty ? nil : try targets.linkedObject(edges[edge.lowerBound]))
            }
        }
        visit = { object, _, core in
            guard let linked = get(object) else { return }
            let targets: KeyedTable<ID> = try core.table(target)
            try targets.slot(of: linked)
        }
        answer = { object, core, answers in
            let targets: KeyedTable<ID> = try core.table(target)
            var id: ID?
            if let linked = get(object), !targets.isDeleted(linked) { id = targets.idOf(linked) }
            guard place.isRequired else { return answers.put(id, as: target.link) }
            guard let id else { throw missing.map { $0() } ?? core.missing(target.type) }
            answers.put(id, as: target.link)
        }
        encode = nil
    }

    /// A link to an ordered list of objects.
    @inlinable @inline(never)
    init<ID: Storable & Hashable>(
        _ target: LinkedType, _ place: ManyPlace<ID>, get: @escaping (AnyObject) -> [AnyObject],
        set: @escaping (AnyObject, [AnyObject]) -> Void
    ) {
        let isClean: (UnsafeRawPointer, AnyObject, SessionCore) throws -> Bool = { dto, object, core in
            let new = get(object)
            guard place.count(dto) == new.count else { return false }
            if new.isEmpty { return true }
            let old = place.ids(dto)
            let targets: KeyedTable<ID> = try core.table(target)
            for index in new.indices {
                guard IDKey(old[index]) == IDKey(targets.idOf(new[index])), !targets.isDeleted(new[index]) else {
                    return false
                }
            }
            return true
        }
        self.isClean = isClean
        gather = { batch, range, step, load in
            let targets: KeyedBatch<ID> = try load.batch(target)
            var list: ContiguousArray<Int32> = []
            swap(&list, &batch.edges[step])
            for index in range {
                for id in place.ids(batch.incomingRows.address(Int(batch.arrived[index]))) {
                    list.append(targets.want(id))
                }
            }
            swap(&list, &batch.edges[step])
        }
        link = { batch, step, load in
            let targets: KeyedBatch<ID> = try load.batch(target)
            let edges = batch.edges[step]
            var next = 0
            try batch.forEachToLink(step, isClean) { dto in
                let start = next
                next += place.count(dto)
                return start..<next
            } body: { object, range in
                var list: [AnyObject] = []
                list.reserveCapacity(range.count)
                for edge in range { list.append(try targets.linkedObject(edges[edge])) }
                set(object, list)
            }
        }
        visit = { object, _, core in
            let linked = get(object)
            if linked.isEmpty { return }
            let targets: KeyedTable<ID> = try core.table(target)
            for target in linked { try targets.slot(of: target) }
        }
        answer = { object, core, answers in
            let targets: KeyedTable<ID> = try core.table(target)
            let linked = get(object)
            var ids: [ID] = []
            ids.reserveCapacity(linked.count)
            for target in linked where !targets.isDeleted(target) { ids.append(targets.idOf(target)) }
            answers.put(ids, as: target.link)
        }
        encode = { dto, values in
            let ids = place.ids(dto)
            values.reserveCapacity(values.count + ids.count)
            for id in ids { id.encode(into: &values) }
        }
    }
}

/// What a link leads to.
@usableFromInline struct LinkedType {
    /// The DTO type.
    @usableFromInline let type: Any.Type
    /// The type of the property that has the link: `Ref<C>?`, for one.
    @usableFromInline let link: Any.Type

    @usableFromInline init(_ type: Any.Type, by link: Any.Type) { (self.type, self.link) = (type, link) }
}

/// Where a DTO has the id that a link to one leads to. A `Ref` is its id and nothing else.
@usableFromInline struct OnePlace<ID> {
    @usableFromInline let offset: Int
    @usableFromInline let isRequired: Bool
    /// Reads the id of a property that is not stored.
    @usableFromInline let read: ((UnsafeRawPointer) -> ID?)?

    init(offset: Int?, isRequired: Bool, _ read: @escaping (UnsafeRawPointer) -> ID?) {
        (self.offset, self.isRequired, self.read) = (offset ?? 0, isRequired, offset == nil ? read : nil)
    }

    @inlinable @inline(__always) func id(_ dto: UnsafeRawPointer) -> ID? {
        if let read { return read(dto) }
        let address = dto + offset
        if isRequired { return address.assumingMemoryBound(to: ID.self).pointee }
        return address.assumingMemoryBound(to: ID?.self).pointee
    }
}

/// Where a DTO has the ids that a link to many leads to.
@usableFromInline struct ManyPlace<ID> {
    @usableFromInline let offset: Int
    /// Reads the ids of a property that is not stored.
    @usableFromInline let read: ((UnsafeRawPointer) -> [ID])?

    init(offset: Int?, _ read: @escaping (UnsafeRawPointer) -> [ID]) {
        (self.offset, self.read) = (offset ?? 0, offset == nil ? read : nil)
    }

    @inlinable @inline(__always) func count(_ dto: UnsafeRawPointer) -> Int {
        if let read { return read(dto).count }
        return (dto + offset).assumingMemoryBound(to: [ID].self).pointee.count
    }

    @inlinable @inline(__always) func ids(_ dto: UnsafeRawPointer) -> [ID] {
        if let read { return read(dto) }
        return (dto + offset).assumingMemoryBound(to: [ID].self).pointee
    }
}

extension SessionCore {
    /// The table of what a link leads to, by its ids.
    @inlinable @inline(__always) func table<ID>(_ target: LinkedType) throws -> KeyedTable<ID> {
        guard let table = tables[TypeKey(target.type)] else { throw missing(target.type) }
        // Registered under its own type, and never under another.
        return unsafeDowncast(table, to: KeyedTable<ID>.self)
    }
}

extension StepTasks {
    /// A link by one `Ref`.
    @usableFromInline init<C: Mappable>(
        _ link: IDLink, to _: C.Type, _ from: AnyKeyPath, _ path: AnyKeyPath, _ place: OnePlace<C.ID>,
        get: @escaping (AnyObject) -> AnyObject?, set: @escaping (AnyObject, AnyObject?) -> Void
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        self = .upkeepOfOne(
            C.self, from, path, { place.id($0) },
            { object in get(object).map { unsafeDowncast($0, to: C.Model.self) } }, { set($0, $1) })
        take(link)
    }

    /// A link by an ordered list of `Ref`s.
    @usableFromInline init<C: Mappable>(
        _ link: IDLink, toMany _: C.Type, _ from: AnyKeyPath, _ path: AnyKeyPath, _ place: ManyPlace<C.ID>,
        get: @escaping (AnyObject) -> [AnyObject], set: @escaping (AnyObject, [AnyObject]) -> Void
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        self = .upkeepOfMany(
            C.self, from, path,
            { dto, isID in
                let ids = place.ids(dto)
                for index in ids.indices where !isID(index, ids[index]) { return false }
                return true
            }, { object in get(object).map { unsafeDowncast($0, to: C.Model.self) } }, { set($0, $1) })
        take(link)
    }

    private mutating func take(_ link: IDLink) {
        let (clean, answerID, encodeIDs) = (link.isClean, link.answer, link.encode)
        let (gatherIDs, linkObjects) = (link.gather, link.link)
        isClean = { try clean($0, $1, $2) }
        gather = { try gatherIDs($0, $1, $2, $3) }
        self.link = { try linkObjects($0, $1, $2) }
        visit = link.visit
        answer = { object, _, core, answers in try answerID(object, core, answers) }
        encode = encodeIDs.map { encode in { encode($0, &$1) } }
    }
}

extension KeyPath {
    /// Where a stored property of a struct lies.
    fileprivate var offset: Int? { MemoryLayout<Root>.offset(of: self) }
}

extension OnePlace {
    @usableFromInline init<D, C>(_ path: KeyPath<D, Ref<C>>) where C.ID == ID {
        self.init(offset: path.offset, isRequired: true) {
            $0.assumingMemoryBound(to: D.self).pointee[keyPath: path].id
        }
    }

    @usableFromInline init<D, C>(_ path: KeyPath<D, Ref<C>?>) where C.ID == ID {
        self.init(offset: path.offset, isRequired: false) {
            $0.assumingMemoryBound(to: D.self).pointee[keyPath: path]?.id
        }
    }
}

extension ManyPlace {
    @usableFromInline init<D, C>(_ path: KeyPath<D, [Ref<C>]>) where C.ID == ID {
        self.init(offset: path.offset) { $0.assumingMemoryBound(to: D.self).pointee[keyPath: path].map(\.id) }
    }
}
