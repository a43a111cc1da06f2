/// The DTOs of models: what the steps answer, handed to the schema's closure.
extension Table {
    /// Where the properties of a DTO come from.
    @usableFromInline enum Composition {
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
    @inlinable func compose<R>(
        _ model: D.Model, _ slot: Int, _ old: UnsafePointer<D>?, _ composition: Composition,
        _ body: (inout RowReader<D>) throws -> R
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
        // Elements are asked for one field at a time: a whole step or property is a dozen references to retain.
        for place in mapping.entries.indices {
            let index = mapping.entries[place] ?? -1
            guard index >= 0, let answer = mapping.steps[index].answer else { throw noWayBack(place) }
            if mapping.steps[index].isVersion { version = answers.end }
            do {
                if let old, try isKept(index, model, slot, composition) {
                    schema.properties[place].put(old, answers)
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
    @inlinable func isKept(_ index: Int, _ model: D.Model, _ slot: Int, _ composition: Composition) throws -> Bool {
        if mapping.steps[index].isVersion { return true }
        if composition == .edits, try isClean(mapping.steps[index].isClean, slot, model) { return true }
        return !isKnown(mapping.steps[index], index, model, slot)
    }

    @usableFromInline func noWayBack(_ place: Int) -> GraphError {
        let problem = mapping.entries[place] == nil ? "no entry covers it" : "no way back"
        return GraphError(.invalidSchema, problem, type: schema.name, property: schema.properties[place].name)
    }

    @usableFromInline func located(_ error: any Error, _ model: D.Model, _ place: Int) -> any Error {
        guard var error = error as? GraphError, error.path == nil else { return error }
        error.path = "\(schema.name)(\(mapping.idOf(model))).\(schema.properties[place].name)"
        return error
    }

    /// The DTO of a model whose nested DTOs are made. What the model does not have, or the session has not loaded, is as
    /// in the snapshot.
    @inlinable func composeWhole(_ model: D.Model) throws -> D {
        try compose(whole: model) { try schema.make(&$0) }
    }

    /// Answers a schema's closure with all of a model.
    @inlinable func compose<R>(whole model: D.Model, _ body: (inout RowReader<D>) throws -> R) throws -> R {
        guard let slot = knownSlot(of: model), let old = snapshot(slot) else {
            return try compose(model, -1, nil, .whole, body)
        }
        return try withUnsafePointer(to: old) { try compose(model, slot, $0, .whole, body) }
    }

    /// What inserts DTOs: the rows, and then their ordered links.
    @inlinable func insertions(of dtos: [D]) -> (rows: [ChangeSet.Change], links: [ChangeSet.Change]) {
        var rows: [ChangeSet.Change] = []
        var links: [ChangeSet.Change] = []
        rows.reserveCapacity(dtos.count)
        for index in dtos.indices {
            if schema.hasLazy {
                let change = schema.insertion(of: dtos[index])
                rows.append(change.row)
                links += change.links
                continue
            }
            var row = ChangeSet.Insertion(table: schema.name, columns: schema.columnNames, values: [], key: [])
            row.values.reserveCapacity(schema.columnNames.count)
            dtos[index].id.encode(into: &row.key)
            withUnsafePointer(to: dtos[index]) { dto in
                for encode in mapping.columns { encode(dto, &row.values) }
                for (place, encode) in mapping.lists {
                    var targets: [StoredValue] = []
                    encode(dto, &targets)
                    guard !targets.isEmpty else { continue }
                    links.append(schema.relink(schema.properties[place], row.key, [], targets, of: []))
                }
            }
            rows.append(.insert(row))
        }
        return (rows, links)
    }

    /// The DTOs of models of which nothing is stored.
    @inlinable func composeNew(_ new: [(slot: Int, model: D.Model)]) throws -> [D] {
        var dtos: [D] = []
        dtos.reserveCapacity(new.count)
        for (slot, model) in new { dtos.append(try compose(model, slot, nil, .whole) { try schema.make(&$0) }) }
        return dtos
    }
}
