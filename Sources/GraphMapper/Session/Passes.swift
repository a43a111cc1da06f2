/// The loops over a table's rows, as closures.
///
/// A mapping forms them where its types are known, in the app's module, so that the loops and the entries in them are
/// specialised; a method of a generic class that is called through ``AnyTable`` never is.
@usableFromInline struct Passes<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let make: (Table<D>) throws -> Bool
    @usableFromInline let read: (Table<D>) throws -> Void
    @usableFromInline let finish: (Table<D>) -> Void
    @usableFromInline let walk: (Table<D>) throws -> Bool
    @usableFromInline let findChanged: (Table<D>) throws -> [Int]
    @usableFromInline var offerAll: (Table<D>, [D]) -> Void
    @usableFromInline var models: (Table<D>, [D]) throws -> [D.Model]
    @usableFromInline let mark: (Table<D>, UInt64, Int) -> Void
    @usableFromInline let check: (Table<D>) throws -> Void
    @usableFromInline let slot: (Table<D>, D.Model) -> Int?
    @usableFromInline let walkAdded: (Table<D>) throws -> Void
    @usableFromInline let new: (Table<D>, [(slot: Int, model: D.Model)]) throws -> [D]
    @usableFromInline let insertions: (Table<D>, [D]) -> (rows: [ChangeSet.Change], links: [ChangeSet.Change])
    @usableFromInline let forgetFound: (Table<D>) -> Void
    @usableFromInline let stored: (Table<D>, [(slot: Int, model: D.Model)], [D]) -> Void
    @usableFromInline let forgetStored: (Table<D>) -> Void
    @usableFromInline let whole: (Table<D>, D.Model) throws -> D
    @usableFromInline let edited: (Table<D>, D.Model, Int, UnsafePointer<D>) throws -> D

    @inlinable @inline(__always) init() {
        self.init { table in
            try table.makeEach()
        } offerAll: { table, dtos in
            dtos.withUnsafeBufferPointer { dtos in
                guard let first = dtos.baseAddress else { return }
                table.reserve(dtos.count)
                for index in dtos.indices { table.offer(first + index) }
            }
        } models: { table, dtos in
            try dtos.map { try table.required($0.id) }
        }
    }

    /// With the loops that differ for DTOs without an id.
    @inlinable @inline(__always)
    init(
        make: @escaping (Table<D>) throws -> Bool, offerAll: @escaping (Table<D>, [D]) -> Void,
        models: @escaping (Table<D>, [D]) throws -> [D.Model]
    ) {
        self.make = make
        self.offerAll = offerAll
        self.models = models
        read = { try $0.readEach() }
        finish = { $0.finishEach() }
        walk = { try $0.walkEach() }
        findChanged = { try $0.changedSlots() }
        mark = { $0.markFilled($1, $2) }
        check = { try $0.checkEach() }
        slot = { $0.identity.slot($0.mapping.idOf($1)) }
        walkAdded = { try $0.walkAdded() }
        new = { try $0.composeNew($1) }
        insertions = { $0.insertions(of: $1) }
        forgetFound = { $0.removeFound() }
        stored = { $0.stored($1, $2) }
        forgetStored = { $0.forgetStored() }
        whole = { try $0.composeWhole($1) }
        edited = { table, model, slot, old in
            try table.compose(model, slot, old, .edits) { try table.schema.make(&$0) }
        }
    }
}

extension Passes {
    /// The same, taking in the objects of a class.
    func reading(_ objects: ObjectAccess<D>) -> Passes {
        var copy = self
        copy.offerAll = objects.offerAll
        // The ids were read when the roots came.
        copy.models = { table, _ in try (table.pool?.roots ?? []).map { try table.required($0) } }
        return copy
    }
}
