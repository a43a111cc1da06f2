/// A DTO without an id: the line of an order that a payload nests as `{"quantity": 2, "product": {…}}`.
///
/// Every place where one stands becomes a model of its own, however equal their values: what has no id shares no
/// instance. A payload that comes again finds the models by place, `order(7).lines[0]`, and so does the first payload
/// of an order that came by a record. Copies of a keyed DTO with equal keyless ones in them merge; keyless ones that
/// differ are a conflict of the copies.
///
/// ```swift
/// struct LineDTO: KeylessDTO, Codable {
///     typealias Model = Line
///     let quantity: Int
///     let product: ProductDTO
///     static let schema = Schema<Self>("line") { row in
///         try Self(quantity: row("quantity", \.quantity), product: row.nested("product", \.product))
///     }
/// }
/// ```
///
/// Its mapping has no `Field(\.id, …)`. The model may have an id, as the record type that stores it needs one: the
/// model's initializer makes it. A backing does not store keyless DTOs.
public protocol KeylessDTO: DTO, Identifiable, Equatable where ID == Occurrence {}

extension KeylessDTO {
    /// Says nothing: the place is known to who nests the DTO.
    public var id: Occurrence { Occurrence(.unplaced) }
}

extension Mapping where D: KeylessDTO {
    /// - Parameters:
    ///   - make: the model's initializer; called once for each place that the session has not seen.
    ///   - properties: one entry for each property of the schema.
    @inlinable @inline(__always)
    public init(_ make: @escaping (D) throws -> D.Model, @MappingBuilder<D> properties: () -> [Step<D>]) {
        let places = Places<D.Model>()
        self.init(
            steps: properties() + [Step(.place(places))], passes: Passes(),
            make: { dto, _ in try make(dto.assumingMemoryBound(to: D.self).pointee) })
        place(places)
    }

    @usableFromInline mutating func place(_ places: Places<D.Model>) {
        offerPlaced = { batch, dtos in
            for dto in dtos { withUnsafePointer(to: dto) { _ = batch.offer($0, as: places.nextRoot()) } }
        }
        placedRoots = places.takeRoots
        noteMade = places.put
    }
}

extension StepTasks where D: KeylessDTO {
    /// In the place of the entry for an id.
    @usableFromInline static func place(_ places: Places<D.Model>) -> StepTasks<D> {
        var step = StepTasks<D>()
        step.idOf = { places.place(of: unsafeDowncast($0, to: D.Model.self)) }
        return step
    }
}
