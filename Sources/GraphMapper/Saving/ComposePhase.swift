/// How the DTOs of models are made, with those that they nest.
protocol ComposePhase: TableState {
    /// The models whose DTOs the model's nests, each with its table.
    func nestedModels(of model: AnyObject) throws -> [(table: any ErasedTable, model: AnyObject)]
    func hasRecord(of model: AnyObject) -> Bool
    /// Makes an object whose properties are set later, so that others can link to it; false for structs.
    func startRecord(of model: AnyObject) -> Bool
    func makeRecord(of model: AnyObject) throws
    func forgetRecords()
}

extension EntityTable: ComposePhase {
    func nestedModels(of model: AnyObject) throws -> [(table: any ErasedTable, model: AnyObject)] {
        try modelsNested(in: model)
    }
    func hasRecord(of model: AnyObject) -> Bool { records[ObjectIdentifier(model)] != nil }
    func forgetRecords() { records = [:] }
}
