/// What one load has gathered of one DTO type.
@usableFromInline final class LoadBatch<D: Mappable>: KeyedBatch<D.ID>
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let entities: EntityTable<D>
    @usableFromInline let mapping: Mapping<D>
    /// The objects that the load has met, if the DTO is a class.
    @usableFromInline let pool: ObjectPool<D>?

    /// Copies of DTOs that came before, whose nested DTOs have not been offered.
    @exclusivity(unchecked) var copies: [D] = []
    /// How many of those that arrived have had their links followed.
    var expanded = 0
    private(set) var rootCount: Int32 = 0
    /// Which of those that arrived are followed next.
    var levelEnd = 0
    /// Where the ids of each level end, for levels that have any.
    var levels: [(level: Int, end: Int)] = []
    /// Which of these is made next.
    var nextLevel = 0
    var requests: [Request<D>] = []
    /// What the load has asked for and not got, although the session has it.
    var vanishing: [D.ID] = []
    /// By the model's property, the slots of objects whose link stays one that was not loaded.
    var unloaded: [AnyKeyPath: [Int]] = [:]
    /// By foreign key, how many owners' links the load has filled.
    @usableFromInline var filledOwners: [AnyKeyPath: Int] = [:]
    /// By foreign key, the owners of objects that were read again.
    var reorderedOwners: [AnyKeyPath: Set<Int>] = [:]
    /// By slot, the foreign keys of objects that both the app and another writer have given to others.
    var keptKeys: [Int: Set<AnyKeyPath>] = [:]
    /// By slot, the entries of what the app and another writer have both changed, and what the load was told to settle.
    var settled: [Int: Set<AnyKeyPath>] = [:]
    /// What becomes of values that both have changed, by slot and entry.
    var resolutions: [Int: [Int: (conflict: Conflict, resolution: Conflict.Resolution)]] = [:]
    /// What payloads of the load do to what earlier ones have said.
    var provenance = LoadProvenance<D>()

    init(_ load: Load, _ table: EntityTable<D>) {
        entities = table
        mapping = table.mapping
        pool = table.stubs.map { ObjectPool($0, load) }
        let (hasNested, hasGaps) = (mapping.hasNested, mapping.hasGaps)
        let noteCopy: ((AnyLoadBatch, Int, UnsafeRawPointer) -> Void)? =
            !hasNested && !hasGaps
            ? nil
            : { batch, index, dto in
                let batch = unsafeDowncast(batch, to: LoadBatch.self)
                let dto = dto.assumingMemoryBound(to: D.self)
                if hasNested { batch.copies.append(dto.pointee) }
                if hasGaps { batch.fill(index, from: dto.pointee) }
            }
        super.init(load, table, noteCopy)
    }

    /// The DTOs of the load, by index.
    @inlinable var incoming: RecordBuffer<D> { unsafeDowncast(incomingRows, to: RecordBuffer<D>.self) }
    /// What the source last answered, or a save last wrote, by slot.
    @inlinable var snapshots: RecordBuffer<D> { unsafeDowncast(snapshotRows, to: RecordBuffer<D>.self) }

    @inlinable @discardableResult func offer(_ dto: D) -> Int32 { withUnsafePointer(to: dto) { offer($0) } }

    /// The model in a slot.
    @inlinable func model(at slot: Int) -> D.Model? { entities.model(at: slot) }

    func required(_ id: D.ID) throws -> D.Model {
        guard let model = entities.model(id) else { throw dangling(id) }
        return model
    }

    /// Calls `body` with the address of a DTO of the load.
    @inlinable @inline(__always)
    func withDTO<T>(_ index: Int32, _ body: (UnsafePointer<D>) throws -> T) rethrows -> T {
        try body(incoming.pointer(Int(index)))
    }

    /// What has been asked for until now is what the load starts from.
    func noteRoots() { rootCount = Int32(truncatingIfNeeded: ids.count) }
}

/// What payloads of one load do to what earlier ones have said.
struct LoadProvenance<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// DTOs with what earlier ones have said, by index.
    var gapless: [Int: D] = [:]
    /// By slot, the entries of what DTOs say and their models do not take.
    var refused: [Int: Set<Int>] = [:]
    /// Models that the load takes for those of DTOs without an id.
    var adoptable: [IDKey<D.ID>: D.Model] = [:]
    /// Models that the load has reached, for the other tables of their class.
    var reached: [D.Model] = []
    /// Why a copy could not be merged.
    var filling: (any Error)?
}
