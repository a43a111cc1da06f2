extension GraphError {
    /// What is written to the columns of a row does not reach its key.
    static func fixedKey(_ column: String, of table: String) -> GraphError {
        GraphError(
            .misuse,
            "the key of a record stays; delete the row and insert another, or apply a KeyChange, which all links to the row "
                + "follow", type: table, property: column)
    }

    /// A key path that leads to no column of a schema.
    static func noColumn<D>(_ path: AnyKeyPath, _ schema: Schema<D>) -> GraphError {
        let names = schema.properties.filter { !$0.columns.isEmpty }.flatMap {
            // The parts of a property without a name have names of their own.
            $0.name.isEmpty ? $0.columnNames : [$0.name]
        }.joined(separator: ", ")
        let what =
            schema.property(at: path) == nil
            ? "the schema does not read it" : "it is kept apart from the row, as lists and nested values are"
        let optional = schema.properties.first { $0.type is any OptionalEmbedded.Type }?.name
        // A key path through `?` says nothing of what it is made of.
        let advice = optional.map {
            ". A part of \($0), which is optional, is named in a closure, as in .sorted { $0.\($0).part }; "
                + "a patch sets \($0) as a whole"
        }
        return GraphError(
            .misuse, "\(what); name one of the columns \(names)\(advice ?? "")", type: schema.name,
            property: "\(path)")
    }
}

private protocol OptionalEmbedded {}
extension Optional: OptionalEmbedded where Wrapped: EmbeddedValue {}

extension StoredRecord {
    /// The columns of a property, or of a part of an embedded one; an error that names the property if it has none.
    static func columnNames(at path: AnyKeyPath) -> Result<[String], GraphError> {
        guard let names = schema.columnNames(at: path), !names.isEmpty else { return .failure(.noColumn(path, schema)) }
        return .success(names)
    }

    static var keyColumnNames: [String] { schema.key?.columnNames ?? ["id"] }
}
