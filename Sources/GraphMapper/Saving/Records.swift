/// The DTOs of models, with those that they nest: the innermost is made first, so that depth costs no stack.
extension SessionCore {
    private struct Visit {
        let table: any ErasedTable
        let model: AnyObject
        var isOpen = false
    }

    /// Makes the DTO of a model, and of all that it nests, in their tables.
    func makeRecords(of model: AnyObject, in table: any ErasedTable) throws {
        var stack = [Visit(table: table, model: model)]
        // Structs that are not made before what they nest is.
        var open: Set<ObjectIdentifier> = []
        while let visit = stack.last {
            let isFirst = !visit.isOpen
            if isFirst {
                if visit.table.hasRecord(of: visit.model) {
                    stack.removeLast()
                    continue
                }
                stack[stack.count - 1].isOpen = true
                if !visit.table.startRecord(of: visit.model) { open.insert(ObjectIdentifier(visit.model)) }
                for nested in try visit.table.nestedModels(of: visit.model).reversed()
                where !nested.table.hasRecord(of: nested.model) {
                    guard !open.contains(ObjectIdentifier(nested.model)) else {
                        throw GraphError(
                            .cycle, "values cannot nest each other in a cycle; link by a Ref, or use classes",
                            type: nested.table.name)
                    }
                    stack.append(Visit(table: nested.table, model: nested.model))
                }
            } else {
                try visit.table.makeRecord(of: visit.model)
                open.remove(ObjectIdentifier(visit.model))
                stack.removeLast()
            }
        }
    }

    func forgetRecords() { for table in order { table.forgetRecords() } }
}

extension EntityTable {
    /// The DTO of a model, complete: nested values, or objects linked to each other as the models are.
    func wholeRecord(of model: D.Model) throws -> D {
        if let known = records[ObjectIdentifier(model)] { return known }
        core.recordDepth += 1
        defer {
            core.recordDepth -= 1
            if core.recordDepth == 0 { core.forgetRecords() }
        }
        try core.makeRecords(of: model, in: self)
        guard let record = records[ObjectIdentifier(model)] else { return try composeWhole(model) }
        return record
    }

    /// The object that stands for a model as a link's target: the one that is being made, or else one that has an id and
    /// nothing else.
    @usableFromInline func target(_ model: D.Model) throws -> D {
        if let known = records[ObjectIdentifier(model)] { return known }
        guard let stubs else { return try record(of: model) }
        return stubs.stub(of: mapping.idOf(model))
    }

    func modelsNested(in model: AnyObject) throws -> [(table: any ErasedTable, model: AnyObject)] {
        guard let model = model as? D.Model else { return [] }
        var nested: [(table: any ErasedTable, model: AnyObject)] = []
        for step in mapping.steps { try step.nestedModels?(model, core) { nested.append((core.order[$0.place], $1)) } }
        return nested
    }

    func startRecord(of model: AnyObject) -> Bool {
        guard let stubs, let model = model as? D.Model else { return false }
        records[ObjectIdentifier(model)] = stubs.access.stub(mapping.idOf(model))
        return true
    }

    func makeRecord(of model: AnyObject) throws {
        guard let model = model as? D.Model else { return }
        if let object = records[ObjectIdentifier(model)], let stubs {
            try compose(whole: model) { try stubs.access.fill(object, $0) }
        } else {
            records[ObjectIdentifier(model)] = try composeWhole(model)
        }
    }
}
