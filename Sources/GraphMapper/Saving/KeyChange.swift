/// A stored object that gets another key.
public struct KeyChange: Sendable, Hashable {
    /// The table's name.
    public var table: String
    /// The columns of the key.
    public var keyColumns: [String]
    /// The key that the row has.
    public var old: [StoredValue]
    /// The key that it gets.
    public var new: [StoredValue]

    /// A row's key, as it is and as it is to be.
    public init(table: String, keyColumns: [String], old: [StoredValue], new: [StoredValue]) {
        self.table = table
        self.keyColumns = keyColumns
        self.old = old
        self.new = new
    }
}

extension GraphSession {
    /// Gives an object another id: its row, all foreign keys and lists that point to it, loaded or not, the identity map and
    /// what the session has read of others. Done at once, in a transaction of its own, or in that of a ``savepoint(_:)``,
    /// which undoes it. Other edits are left for the next save.
    ///
    /// Complexity: O(objects held), and an update for each column that may point to the row.
    ///
    /// - Parameters:
    ///   - model: an object of the session; its id must be a `var`.
    ///   - id: the new id, of the type of the old.
    /// - Throws: ``GraphError`` if the session or another row has the id, or the row is gone; whatever goes wrong. Everything
    ///   is then as before.
    public func changeKey<ID: Storable & Hashable>(of model: AnyObject, to id: ID) async throws {
        try await takeTurn()
        defer { release() }
        let table = try core.storedTable(for: model)
        guard let change = try table.keyChange(of: model, to: id) else { return }
        if let row = change.row {
            try await required(backing).transaction { sink in try await sink.apply(row) }
        }
        change.follow()
    }
}

extension EntityTable {
    /// What changes an object's key: in the backing, if it has a row, and then in the session. Nil if it has the id.
    func change(of object: AnyObject, to id: Any) throws -> (row: KeyChange?, follow: () -> Void)? {
        guard let model = object as? D.Model else { return nil }
        let old = mapping.idOf(model)
        func error(_ message: String) -> GraphError {
            GraphError(.misuse, message, type: D.schema.name, id: "\(old)", property: D.schema.key?.name)
        }
        guard let id = id as? D.ID else { throw error("its id is \(D.ID.self), not \(type(of: id))") }
        guard IDKey(id) != IDKey(old) else { return nil }
        guard identity.slot(id) == nil else {
            throw GraphError(
                .conflict, "the session has another object with the id \(id); delete it first", type: D.schema.name,
                id: "\(old)", property: D.schema.key?.name)
        }
        guard let path = mapping.steps.first(where: { $0.idOf != nil })?.modelPath,
            let settable = path as? ReferenceWritableKeyPath<D.Model, D.ID>
        else { throw error("its id is a let, which cannot be changed; make it a var") }
        guard let slot = knownSlot(of: model) else {
            guard added.contains(model) else { throw error("the session does not know it; add it") }
            return (nil, { model[keyPath: settable] = id })
        }
        guard identity.deleted.isEmpty || !identity.deleted.contains(slot), !vanished.contains(slot) else {
            throw error("it is deleted")
        }
        // All that can fail is done before anything is changed.
        let links = core.sharing(self).compactMap { $0.movedLinks(from: old, to: id) }
        let changes = try core.order.map { table in
            try table.follow(links, own: table.identityMap === identity ? (slot, id) : nil)
        }
        let follow: () -> Void = { [identity] in
            model[keyPath: settable] = id
            identity.slots[old] = nil
            identity.slots[id] = Int32(truncatingIfNeeded: slot)
            for change in changes { change() }
        }
        guard snapshot(slot) != nil, isStored else { return (nil, follow) }
        let row = KeyChange(
            table: D.schema.name, keyColumns: D.schema.key?.columnNames ?? [], old: old.storedValues,
            new: id.storedValues)
        return (row, follow)
    }

    /// How links to this DTO type follow an object that gets another id.
    func movedLinks(from old: Any, to new: Any) -> MovedLinks? {
        guard let old = old as? D.ID, let new = new as? D.ID else { return nil }
        return MovedLinks(D.self, from: old, to: new)
    }

    /// What lets the snapshots, and models that keep ids, point to an object by its new id.
    ///
    /// - Parameters:
    ///   - links: those to each DTO type of the object.
    ///   - own: the object's slot, if it is one of this table's, and its new id.
    func following(_ links: [MovedLinks], own: (slot: Int, id: Any)?) throws -> () -> Void {
        let properties = D.schema.properties
        let places = properties.indices.compactMap { place in
            links.first { $0.record == properties[place].link?.record }.map { (place: place, moved: $0.moved) }
        }
        func with(_ values: [Int: Any], _ row: D) throws -> D {
            try D.schema.make(answering: { values[$0] ?? row[keyPath: properties[$0].path] })
        }
        var changes: [() -> Void] = []
        for slot in places.isEmpty ? own.map({ [$0.slot] }) ?? [] : Array(snapshots.indices) {
            guard let row = snapshot(slot) else { continue }
            var values: [Int: Any] = [:]
            if let own, own.slot == slot, let key = properties.firstIndex(where: \.isKey) { values[key] = own.id }
            for (place, moved) in places {
                if let value = moved(row[keyPath: properties[place].path]) { values[place] = value }
                // A model that keeps an id follows whether its row points there or it was edited to.
                guard let model = model(at: slot),
                    let step = mapping.steps.first(where: { $0.property == properties[place].path && $0.link == nil }),
                    let read = step.read
                else { continue }
                // An id that does not encode is an edit, which a save reports; it follows nothing.
                guard let now = try? step.value(of: model, row, core), let value = moved(now) else { continue }
                let copy = try with([place: value], row)
                // Whether the new id can be converted is asked now, before anything has changed; then it can be read.
                try withUnsafePointer(to: copy) { try step.check?($0) }
                changes.append { withUnsafePointer(to: copy) { try? read($0, model) } }
            }
            guard !values.isEmpty else { continue }
            let copy = try with(values, row)
            changes.append { [self] in snapshots[slot] = copy }
        }
        return { for change in changes { change() } }
    }
}

/// How what holds links to an object follows when it gets another id.
struct MovedLinks {
    /// The DTO type that the links are to.
    let record: any DTO.Type
    /// What a link, a list or a set of links becomes; nil if it does not lead to the object.
    let moved: (Any) -> Any?

    init<D: DTO & Identifiable>(_: D.Type, from old: D.ID, to new: D.ID) where D.ID: Storable {
        let (old, new) = (Ref<D>(old), Ref<D>(new))
        record = D.self
        moved = { value in
            if let ref = value as? Ref<D> { return ref == old ? new : nil }
            if let list = value as? [Ref<D>] { return list.contains(old) ? list.map { $0 == old ? new : $0 } : nil }
            guard let set = value as? Set<Ref<D>>, set.contains(old) else { return nil }
            return set.subtracting([old]).union([new])
        }
    }
}
