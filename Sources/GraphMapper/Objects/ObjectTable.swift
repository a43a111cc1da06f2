/// The objects of one class, found by key: applies changes, which are plain data, to them.
protocol ObjectTable {
    var name: String { get }
    func insert(_ row: ChangeSet.Insertion, _ database: some ObjectDatabase) throws
    /// Sets the links of an object that was inserted.
    func setLinks(_ row: ChangeSet.Insertion, _ database: some ObjectDatabase) throws
    func update(_ row: ChangeSet.Update, _ database: some ObjectDatabase) throws
    func relink(_ link: ChangeSet.Relink, _ database: some ObjectDatabase) throws
    func delete(_ row: ChangeSet.Deletion, _ database: some ObjectDatabase) throws
}

/// The table of a class; nil for structs.
func objectTable(of type: any DTO.Type) -> (any ObjectTable)? {
    func open<D: DTO>(_: D.Type) -> (any ObjectTable)? { D.schema.objects as? any ObjectTable }
    return open(type)
}

extension ObjectAccess: ObjectTable {
    var name: String { D.schema.name }

    func insert(_ row: ChangeSet.Insertion, _ database: some ObjectDatabase) throws {
        let id = try D.ID.decode(row.key)
        guard try database.object(D.self, id: id) == nil else {
            throw conflict(id, "the database has an object of this id already")
        }
        let object = stub(id)
        for (property, range) in ranges() where property.link == nil && !property.isKey {
            try property.assign?(object, Array(row.values[range]), database)
        }
        guard let object = object as AnyObject? else { return }
        try database.insert(object)
    }

    func setLinks(_ row: ChangeSet.Insertion, _ database: some ObjectDatabase) throws {
        let links = ranges().filter { property, range in
            property.link != nil && row.values[range].contains { $0 != .null }
        }
        guard !links.isEmpty else { return }
        let object = try found(row.key, database)
        for (property, range) in links { try property.assign?(object, Array(row.values[range]), database) }
    }

    func update(_ row: ChangeSet.Update, _ database: some ObjectDatabase) throws {
        let object = try found(row.key, database)
        for property in D.schema.properties {
            let places = property.columnNames.map { row.columns.firstIndex(of: $0) }
            guard places.contains(where: { $0 != nil }) else { continue }
            var values = property.stored(object)
            for (column, place) in places.enumerated() {
                guard let place else { continue }
                try check(property, row.key, values[column] == row.expected[place], values[column], row.expected[place])
                values[column] = row.values[place]
            }
            try property.assign?(object, values, database)
        }
    }

    func relink(_ link: ChangeSet.Relink, _ database: some ObjectDatabase) throws {
        guard let property = D.schema.properties.first(where: { $0.name == link.property }) else { return }
        let object = try found(link.key, database)
        let values = property.stored(object)
        try check(property, link.key, values == link.base, values, link.base)
        try property.assign?(object, link.targets, database)
    }

    func delete(_ row: ChangeSet.Deletion, _ database: some ObjectDatabase) throws {
        // Whoever else has deleted it wanted the same.
        guard let object = try database.object(D.self, id: D.ID.decode(row.key)) as AnyObject? else { return }
        try database.delete(object)
    }

    /// The properties that have columns, each with the places of its columns.
    private func ranges() -> [(Property<D>, Range<Int>)] {
        var start = 0
        return D.schema.properties.filter { !$0.isList }.map { property in
            defer { start += property.columns.count }
            return (property, start..<start + property.columns.count)
        }
    }

    private func found(_ key: [StoredValue], _ database: some ObjectDatabase) throws -> D {
        let id = try D.ID.decode(key)
        if let object = try database.object(D.self, id: id) { return object }
        throw conflict(id, "another writer has deleted it; evict it, or add it to store it again")
    }

    private func check<Value>(
        _ property: Property<D>, _ key: [StoredValue], _ isSame: Bool, _ found: Value, _ expected: Value
    ) throws {
        guard !isSame else { return }
        var error = conflict(
            try D.ID.decode(key), "the database has \(found), not \(expected) as last read; refresh, then save again")
        error.property = property.name
        throw error
    }

    private func conflict(_ id: D.ID, _ message: String) -> GraphError {
        GraphError(.conflict, message, type: name, id: "\(id)")
    }
}
