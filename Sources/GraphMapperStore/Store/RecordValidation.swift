extension GraphStore {
    /// Checks the records' schemas, indexes and rules, and that their tables can stand in one file.
    ///
    /// - Throws: ``GraphError`` that lists every mistake.
    static func validate(_ records: [any StoredRecord.Type]) throws {
        func diagnostics<R: StoredRecord>(_ type: R.Type) -> [String] {
            R.schema.diagnostics + (R.schema.key == nil ? ["\(R.schema.name): no property is its id"] : [])
                + (R.schema.key?.columns.contains(where: \.isNullable) == true
                    ? ["\(R.schema.name): its id has optional parts, which a key cannot have"] : [])
                + R.schema.properties.compactMap { property in
                    guard let target = property.link?.record, !records.contains(where: { $0 == target }) else {
                        return nil
                    }
                    return "\(R.schema.name).\(property.name): \(target) is not among the records to open with"
                }
                + R.indexes.compactMap(\.diagnostic) + R.linkRuleDiagnostics
                + (R.isAdopted && !(R.indexes.isEmpty && R.linkRules.isEmpty)
                    ? ["\(R.schema.name): an adopted table has the indexes and rules that it has; declare none"] : [])
        }
        // A record's own table, then those of its ordered links. Records may share both.
        func tables<R: StoredRecord>(_ type: R.Type) -> [[String]] {
            [[R.schema.name]] + (R.textIndex?.names ?? []).map { [$0, ""] }
                + R.schema.properties.filter(\.isList).map {
                    [RecordLayout.listTable(R.schema.name, $0.name), R.schema.name, $0.name]
                }
        }
        // The engine does not tell capitals from small letters in names.
        let names = Dictionary(
            grouping: Set(StoreTables.all.map { [$0, ""] } + records.flatMap { tables($0) }),
            by: { Dialect.folded($0[0]) })
        let all =
            records.flatMap { diagnostics($0) }
            + names.filter { $0.value.count > 1 }.keys.sorted().map {
                "\($0): \(names[$0]?.count ?? 0) tables have this name"
            } + Dialect.nameDiagnostics(of: records.flatMap { RecordLayout($0).tables })
        guard all.isEmpty else { throw GraphError(.invalidSchema, all.joined(separator: "\n")) }
    }
}
