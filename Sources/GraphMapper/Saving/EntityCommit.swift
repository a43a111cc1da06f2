/// What a save makes of one DTO type's objects once it is stored, whatever the type. What the app has done since the save was
/// planned, while it waited, is left for the next one.
protocol TableCommit {
    /// Lets what the save has deleted be all that counts as deleted, until ``endDeleting()``.
    func startDeleting()
    /// What the save has written is what is stored.
    func keepWritten()
    /// Forgets the objects whose rows are gone.
    func forgetDeleted()
    func endDeleting()
}

/// What a save has planned for the objects of one DTO type.
final class EntityCommit<D: Mappable>: TableCommit where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// An object whose row is updated, with the DTO that is written.
    struct Updated {
        let slot: Int
        let dto: D
        /// The links that hold something, and so are known once they are written.
        let written: UInt64
        /// The places of properties that have their base again, although another writer has changed them.
        let takenBack: Set<Int>
    }

    /// An object whose row turned out to be there.
    struct Found {
        let slot: Int
        let model: D.Model
        let dto: D
        let written: UInt64
        /// Whether the model takes what is stored.
        let isTaken: Bool
    }

    struct Deleted {
        let slot: Int
        let id: D.ID
        let model: D.Model
    }

    private let table: EntityTable<D>
    private var inserted: [(slot: Int, model: AnyObject)] = []
    private var insertedDTOs: [D] = []
    private var updated: [Updated] = []
    private var found: [Found] = []
    private var deleted: [Deleted] = []
    /// Deleted objects that were never stored.
    private let dropped: [ObjectIdentifier: AnyObject]
    /// Deleted objects whose places others have taken, by slot.
    private let replaced: [Int: AnyObject]
    private let takenPlaces: [TakenPlace]
    private let owned: [(InverseIndex, [Int: [AnyObject]])]
    /// The slots that a save of what is edited has compared; nil for a save of everything.
    private let compared: Set<Int>?
    /// When the app last said that it edits an object, of those that it had named.
    private let stamps: [ObjectIdentifier: Int]
    /// What the app has deleted while the save waited.
    private var later: (slots: Set<Int>, dropped: [ObjectIdentifier: AnyObject]) = ([], [:])

    init(_ table: EntityTable<D>) {
        self.table = table
        dropped = table.identity.dropped
        replaced = table.identity.replaced
        takenPlaces = table.takenPlaces
        owned = table.inverseIndexes.values.map { ($0, $0.walk?.pending ?? [:]) }
        compared = table.partial?.compared
        stamps = table.edited.mapValues(\.stamp)
    }

    func insert(_ objects: [(slot: Int, model: AnyObject)], _ dtos: [D]) { (inserted, insertedDTOs) = (objects, dtos) }
    func update(_ object: Updated) { updated.append(object) }
    func find(_ object: Found) { found.append(object) }
    func delete(_ object: Deleted) { deleted.append(object) }

    var hasDeleted: Bool { !deleted.isEmpty || !dropped.isEmpty }

    // MARK: Committing

    func startDeleting() {
        let identity = table.identity
        let own = Set(deleted.map(\.slot)).union(takenPlaces.map(\.slot))
        later = (identity.deleted.subtracting(own), identity.dropped.filter { dropped[$0.key] == nil })
        identity.deleted.formIntersection(own)
        identity.dropped = identity.dropped.filter { dropped[$0.key] != nil }
    }

    func keepWritten() {
        for place in takenPlaces { table.replace(place.slot, by: place.new) }
        for object in updated {
            table.snapshots[object.slot] = object.dto
            table.vanished.remove(object.slot)
            // What the app has taken back is still not what another writer has made of it.
            table.dropBase(object.slot, Set(table.schema.properties.indices).subtracting(object.takenBack))
            table.filled[object.slot] |= object.written
        }
        keepInserted()
        for object in found {
            let slot = table.stored(object.dto, object.model, object.slot)
            table.filled[slot] = object.written
            if object.isTaken { table.take(object.dto, slot, object.model) }
        }
        table.tellSaved(compared)
        for (object, stamp) in stamps where table.edited[object]?.stamp == stamp { table.edited[object] = nil }
        if !table.added.isEmpty { table.forgetStored() }
        for (inverseIndex, pending) in owned { inverseIndex.commit(pending) }
    }

    private func keepInserted() {
        guard !inserted.isEmpty else { return }
        table.grow(to: table.held.models.count + inserted.count)
        let noteStored = table.mapping.passes.noteStored
        insertedDTOs.withUnsafeBufferPointer { dtos in
            guard let first = dtos.baseAddress else { return }
            for index in inserted.indices {
                let object = inserted[index]
                let slot = noteStored(table, first + index, object.model, object.slot)
                // Deleted while the save waited: it is there now, and the next save deletes it.
                if later.dropped.removeValue(forKey: ObjectIdentifier(object.model)) != nil { later.slots.insert(slot) }
            }
        }
    }

    func forgetDeleted() {
        for object in deleted {
            let isGone =
                table.identity.models[object.slot] === object.model && table.identity.deleted.contains(object.slot)
            if isGone { table.forget(object.id) } else { forgetRow(of: object) }
        }
    }

    /// The app has added the object again while the save waited, or another one under its key: that is new.
    private func forgetRow(of object: Deleted) {
        let identity = table.identity
        for table in table.core.sharing(table) { table.forgetSnapshot(object.slot) }
        if object.slot < table.filled.count { table.filled[object.slot] = 0 }
        identity.replaced[object.slot] = nil
        if let model = table.model(at: object.slot) { table.added.append(model) }
    }

    func endDeleting() {
        let identity = table.identity
        identity.deleted.formUnion(later.slots)
        identity.dropped = later.dropped
        // What a found row's owner left empty by foreign key was never loaded.
        for object in found {
            for index in table.linkSteps where table.mapping.steps[index].inverse != nil {
                guard table.mapping.steps[index].objects?(object.model).isEmpty == true,
                    let inverse = table.mapping.steps[index].inverse
                else { continue }
                table.target(of: index)?.forgetHeld(by: object.slot, inverse)
            }
        }
        for (slot, old) in replaced where identity.replaced[slot] === old { identity.replaced[slot] = nil }
    }
}

extension EntityTable {
    /// Gives a model what is stored. Links to objects that the session does not have are not loaded.
    fileprivate func take(_ dto: D, _ slot: Int, _ model: D.Model) {
        for step in mapping.steps {
            // What converts has been read before, or is what the app had.
            if let read = step.read {
                withUnsafePointer(to: dto) { try? read($0, model) }
            } else if let restore = step.restore {
                filled[slot] |= step.bit
                guard !restore(dto, model, core) else { continue }
                step.drop?(model, core, true)
                filled[slot] &= ~step.bit
            } else if step.inverse != nil {
                step.drop?(model, core, true)
                filled[slot] &= ~step.bit
            }
        }
    }
}
