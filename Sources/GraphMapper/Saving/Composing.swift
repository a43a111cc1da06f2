/// The DTOs of models: what the steps answer, handed to the schema's closure.
extension EntityTable {
    /// Where the properties of a DTO come from.
    enum Composition {
        /// The model, but for links that the session has not loaded: they are as in the snapshot.
        case whole
        /// The snapshot, but for what differs from it: an update, which the row's version counts.
        case edits
    }

    /// Answers a schema's closure for one model.
    ///
    /// - Parameters:
    ///   - slot: the model's; -1 for one that the session does not know.
    ///   - old: its snapshot, if there is one.
    func compose<R>(
        _ model: D.Model, _ slot: Int, _ old: UnsafePointer<D>?, _ composition: Composition,
        _ body: (inout RowReader<D>) throws -> R
    ) throws -> R {
        try mapping.steps.withUnsafeBufferPointer { steps in
            try compose(model, slot, old, composition, steps.baseAddress, body)
        }
    }

    /// - Parameter steps: those of the mapping; nil for none.
    private func compose<R>(
        _ model: D.Model, _ slot: Int, _ old: UnsafePointer<D>?, _ composition: Composition,
        _ steps: UnsafePointer<StepTasks<D>>?, _ body: (inout RowReader<D>) throws -> R
    ) throws -> R {
        let answers = core.answers
        let (mark, unread) = (answers.end, answers.next)
        defer {
            answers.next = max(answers.next, mark)
            if answers.next < answers.end { answers.drop(to: mark) }
            (answers.end, answers.next) = (mark, unread)
        }
        var version: Int?
        var isEdited = false
        let core = core
        let positions = slot < 0 ? [] : self.positions
        for place in mapping.entries.indices {
            guard let steps, let index = mapping.entries[place], let answer = steps[index].answer else {
                throw noWayBack(place)
            }
            let step = steps + index
            if step.pointee.isVersion { version = answers.end }
            do {
                if let column = positions.first(where: { $0.property == place }),
                    let position = column.position(of: slot)
                {
                    isEdited = true
                    guard column.put(position, answers) else { throw noRoom(for: position, place) }
                } else if let old, try isKept(step, model, slot, composition) {
                    schema.properties.withAddress { $0[place].put(old, answers) }
                } else {
                    isEdited = true
                    try answer(model, old, core, answers)
                }
            } catch { throw located(error, model, place) }
        }
        if composition == .edits, isEdited, let version { answers.increment(at: version) }
        answers.next = mark
        var reader = RowReader<D>(answers)
        return try body(&reader)
    }

    /// Whether a property of a loaded model is as in the snapshot.
    private func isKept(
        _ step: UnsafePointer<StepTasks<D>>, _ model: D.Model, _ slot: Int, _ composition: Composition
    ) throws -> Bool {
        if step.pointee.isVersion { return true }
        if composition == .edits {
            let isUnedited = try isClean(step.pointee.isClean, slot, model)
            if try isUnedited || !bases.isEmpty && isClean(step.pointee, slot, model) { return true }
        }
        guard let isEmpty = step.pointee.isEmpty, filled[slot] & step.pointee.bit == 0 else { return false }
        return isEmpty(model)
    }

    private func noRoom(for position: Int, _ place: Int) -> GraphError {
        GraphError(
            .conversion, "\(position) does not fit the column that has the positions; give it a wider type",
            type: schema.name, property: schema.properties[place].name)
    }

    func noWayBack(_ place: Int) -> GraphError {
        let problem = mapping.entries[place] == nil ? "no entry covers it" : "no way back"
        return GraphError(.invalidSchema, problem, type: schema.name, property: schema.properties[place].name)
    }

    func located(_ error: any Error, _ model: D.Model, _ place: Int) -> any Error {
        guard var error = error as? GraphError, error.path == nil else { return error }
        error.path = "\(schema.name)(\(mapping.idOf(model))).\(schema.properties[place].name)"
        return error
    }

    /// The DTO of a model whose nested DTOs are made. What the model does not have, or the session has not loaded, is as
    /// in the snapshot.
    func composeWhole(_ model: D.Model) throws -> D {
        try compose(whole: model) { try schema.make(&$0) }
    }

    /// Answers a schema's closure with all of a model.
    func compose<R>(whole model: D.Model, _ body: (inout RowReader<D>) throws -> R) throws -> R {
        guard let slot = knownSlot(of: model), let old = snapshot(slot) else {
            return try compose(model, -1, nil, .whole, body)
        }
        return try withUnsafePointer(to: old) { try compose(model, slot, $0, .whole, body) }
    }

    /// What inserts DTOs: the rows, and then their ordered links.
    func insertions(of dtos: [D]) -> (rows: [ChangeSet.Change], links: [ChangeSet.Change]) {
        var rows: [ChangeSet.Change] = []
        var links: [ChangeSet.Change] = []
        rows.reserveCapacity(dtos.count)
        guard !schema.hasLazy else {
            for dto in dtos {
                let change = schema.insertion(of: dto)
                rows.append(change.row)
                links += change.links
            }
            return (rows, links)
        }
        let (name, columns, lists) = (schema.name, schema.columnNames, listEncoders)
        // By address, since a DTO would be copied.
        dtos.withUnsafeBufferPointer { dtos in
            guard let first = dtos.baseAddress else { return }
            for index in dtos.indices {
                let dto = first + index
                var row = ChangeSet.Insertion(table: name, columns: columns, values: [], key: [])
                row.values.reserveCapacity(columns.count)
                mapping.key(dto, &row.key)
                mapping.columns(dto, &row.values)
                for list in lists { if let link = list.link(dto, row.key, name) { links.append(.relink(link)) } }
                rows.append(.insert(row))
            }
        }
        return (rows, links)
    }

    /// The DTOs of models of which nothing is stored.
    func composeNew(_ new: [(slot: Int, model: AnyObject)]) throws -> [D] {
        try mapping.steps.withUnsafeBufferPointer { steps in
            try Array(unsafeUninitializedCapacity: new.count) { dtos, count in
                for (slot, object) in new {
                    let model = unsafeDowncast(object, to: D.Model.self)
                    let dto = try compose(model, slot, nil, .whole, steps.baseAddress) { try schema.make(&$0) }
                    dtos.initializeElement(at: count, to: dto)
                    count += 1
                }
            }
        }
    }
}

/// Makes the changes of one ordered link of new rows.
struct ListEncoder {
    private let property: String
    private let columns: (owner: [String], target: [String])
    private let encode: Encode

    init<D>(_ schema: Schema<D>, _ place: Int, _ encode: @escaping Encode) where D: Identifiable, D.ID: Storable {
        property = schema.properties[place].name
        columns = schema.linkColumns(of: schema.properties[place])
        self.encode = encode
    }

    /// The change that fills the list of the DTO at that address; nil if it is empty.
    func link(_ dto: UnsafeRawPointer, _ key: [StoredValue], _ table: String) -> ChangeSet.Relink? {
        var targets: [StoredValue] = []
        encode(dto, &targets)
        guard !targets.isEmpty else { return nil }
        return ChangeSet.Relink(
            table: table, property: property, key: key, base: [], targets: targets, ownerColumns: columns.owner,
            targetColumns: columns.target)
    }
}

extension Array {
    /// Calls `body` with the address of the elements, unless there are none: a copy of one with many closures costs a
    /// reference count each, unless the code is specialised.
    func withAddress(_ body: (UnsafePointer<Element>) throws -> Void) rethrows {
        try withUnsafeBufferPointer { elements in
            if let first = elements.baseAddress { try body(first) }
        }
    }
}
