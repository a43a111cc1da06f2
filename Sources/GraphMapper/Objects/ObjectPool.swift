/// The objects of one class that a load has met.
///
/// Each object has a token: its accessors, if it is live, share one. An object is met when something links to it, and
/// read, once, when the link is followed; what is kept of it is a copy.
@usableFromInline final class ObjectPool<D: Mappable>
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let access: ObjectAccess<D>
    @usableFromInline let ownStubs: ObjectStubs<D>
    @usableFromInline unowned let load: Load
    /// The ids of the DTOs that the load began with, in their order.
    var roots: [D.ID]?

    // By the address of the object, which is held.
    @exclusivity(unchecked) @usableFromInline var known: [IDKey<Int>: Int32] = [:]
    @exclusivity(unchecked) @usableFromInline var live: [IDKey<D.ID>: Int32] = [:]

    // By token.
    @exclusivity(unchecked) @usableFromInline var objects: ContiguousArray<D> = []
    @exclusivity(unchecked) @usableFromInline var ids: ContiguousArray<D.ID> = []
    /// What links to the object hold in copies.
    @exclusivity(unchecked) @usableFromInline var stubs: ContiguousArray<D?> = []
    @exclusivity(unchecked) @usableFromInline var copies: ContiguousArray<D?> = []
    /// The row of its links; -1 for an object that is not read.
    @exclusivity(unchecked) @usableFromInline var rows: ContiguousArray<Int32> = []
    /// Its index in the load; -1 for an object that is not taken in.
    @exclusivity(unchecked) @usableFromInline var places: ContiguousArray<Int32> = []

    // By index in the load: the token of the object that was taken in first; -1 for what is not here.
    @exclusivity(unchecked) @usableFromInline var tokens: ContiguousArray<Int32> = []
    /// For each link of the schema, the targets' tokens, row after row.
    @exclusivity(unchecked) @usableFromInline var links: ContiguousArray<Links> = []
    @exclusivity(unchecked) @usableFromInline var rowCount: Int32 = 0
    /// The tokens of copies of what was here, by the address of the copy that was made of them.
    @usableFromInline var repeated: [ObjectIdentifier: Int32] = [:]

    /// The targets of one link of all objects that were read.
    @usableFromInline struct Links {
        @usableFromInline var tokens: ContiguousArray<Int32> = []
        /// Where each row ends.
        @usableFromInline var ends: ContiguousArray<Int> = []
        /// The pool of the link's target, once it is known. The load owns it.
        @usableFromInline unowned var target: AnyObject?
        @usableFromInline init() {}
    }

    init(_ stubs: ObjectStubs<D>, _ load: Load) {
        access = stubs.access
        ownStubs = stubs
        self.load = load
        links = ContiguousArray(repeating: Links(), count: D.schema.properties.count { $0.isObjectLink })
    }

    /// The targets of the link of an object that was read, as places in `links[link].tokens`.
    @inlinable func range(_ link: Int, _ token: Int32) -> Range<Int> {
        let row = token < 0 ? -1 : Int(rows[Int(token)])
        guard row >= 0 else { return 0..<0 }
        return (row == 0 ? 0 : links[link].ends[row - 1])..<links[link].ends[row]
    }

    /// The token of the object with this index in the load.
    @inlinable func token(at index: Int) -> Int32 { index < tokens.count ? tokens[index] : -1 }

    @inlinable func endLink(_ link: Int) { links[link].ends.append(links[link].tokens.count) }

    /// A copy of the object, which is made once.
    @inlinable func copy(_ token: Int32) -> D {
        if let known = copies[Int(token)] { return known }
        let copy = access.copy(self, objects[Int(token)], ids[Int(token)])
        copies[Int(token)] = copy
        rows[Int(token)] = rowCount
        rowCount &+= 1
        return copy
    }
}

extension ObjectPool where D: AnyObject {
    /// The token of an object. Of one that is met for the first time, the id is read.
    @inlinable func token(of object: D) -> Int32 {
        let address = IDKey(Int(bitPattern: ObjectIdentifier(object)))
        if let token = known[address] { return token }
        let id = object.id
        let new = Int32(truncatingIfNeeded: objects.count)
        if access.isLive(object) {
            // Another accessor of an object that is met is not held, so its address may be used again.
            if let token = live[IDKey(id)] { return token }
            live[IDKey(id)] = new
        }
        known[address] = new
        objects.append(object)
        ids.append(id)
        stubs.append(nil)
        copies.append(nil)
        rows.append(-1)
        places.append(-1)
        return new
    }

    /// Notes a link to `child`, and answers what stands for it in a copy.
    @inlinable func link<C: ObjectDTO>(_ child: C, _ link: Int) -> C?
    where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let pool = target(C.self, link) else { return nil }
        let token = pool.token(of: child)
        links[link].tokens.append(token)
        return pool.stub(token)
    }

    /// Notes links to the children of a collection, which ends the link's row.
    @inlinable func linkAll<Children: RandomAccessCollection>(_ children: Children, _ link: Int) -> [Children.Element]
    where
        Children.Element: ObjectDTO, Children.Element.Model: AnyObject, Children.Element.ID: Storable & Hashable,
        Children.Element.Row == Children.Element
    {
        var stubs: [Children.Element] = []
        if let pool = target(Children.Element.self, link) {
            stubs.reserveCapacity(children.count)
            for child in children {
                let token = pool.token(of: child)
                links[link].tokens.append(token)
                stubs.append(pool.stub(token))
            }
        }
        endLink(link)
        return stubs
    }

    @inlinable func stub(_ token: Int32) -> D {
        if let known = stubs[Int(token)] { return known }
        let stub = ownStubs.stub(of: ids[Int(token)])
        stubs[Int(token)] = stub
        return stub
    }

    /// The pool of a link's target; nil if the session does not map it, which its first use has reported.
    @inlinable func target<C: Mappable>(_: C.Type, _ link: Int) -> ObjectPool<C>?
    where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        // Noted by this function, and a link has one type.
        if let known = links[link].target { return unsafeDowncast(known, to: ObjectPool<C>.self) }
        guard let pool = (try? load.batch(C.self))?.pool else { return nil }
        links[link].target = pool
        return pool
    }
}

extension LoadBatch where D: AnyObject {
    /// Takes objects into the load.
    @inlinable func offerObjects(_ dtos: [D]) {
        guard let pool else { return }
        var ids: [D.ID] = []
        ids.reserveCapacity(dtos.count)
        for dto in dtos {
            let token = pool.token(of: dto)
            ids.append(pool.ids[Int(token)])
            offer(token, pool)
        }
        noteRootIDs(ids)
    }

    /// Takes an object into the load and answers its index. It is read, unless it was.
    @inlinable @discardableResult func offer(_ token: Int32, _ pool: ObjectPool<D>) -> Int32 {
        let known = pool.places[Int(token)]
        guard known < 0 else { return known }
        let copy = pool.copy(token)
        let count = arrived.count
        let index = offer(copy)
        pool.places[Int(token)] = index
        if arrived.count > count {
            while pool.tokens.count <= Int(index) { pool.tokens.append(-1) }
            pool.tokens[Int(index)] = token
        } else if mapping.hasNested {
            pool.repeated[ObjectIdentifier(copy)] = token
        }
        return index
    }
}

extension LoadBatch {
    /// What a load begins with is what it is offered first.
    @usableFromInline func noteRootIDs(_ ids: [D.ID]) {
        if pool?.roots == nil { pool?.roots = ids }
    }

    /// A copy of an object.
    func detached(_ dto: D) -> D {
        guard let pool else { return dto }
        return pool.copy(pool.access.token(pool, dto))
    }
}

extension Property {
    /// Whether it is a link from a class to another, by reference.
    var isObjectLink: Bool { link != nil && type is any DTO.Type }
}

/// What stands for objects that a copy links to: objects that have an id and nothing else.
@usableFromInline final class ObjectStubs<D: Mappable>
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let access: ObjectAccess<D>
    /// Whether a link to this class is weak or unowned, so that what stands for an object has to be kept here.
    var isKeeping = false
    private var kept: [IDKey<D.ID>: D] = [:]

    init(_ access: ObjectAccess<D>) { self.access = access }

    @usableFromInline func stub(of id: D.ID) -> D {
        guard isKeeping else { return access.stub(id) }
        if let known = kept[IDKey(id)] { return known }
        let stub = access.stub(id)
        kept[IDKey(id)] = stub
        return stub
    }
}
