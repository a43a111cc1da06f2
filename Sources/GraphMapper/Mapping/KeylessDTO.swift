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

/// The place where a DTO without an id stands, such as `order(7).lines[0]`.
public struct Occurrence: Hashable, Sendable {
    enum Place: Sendable {
        case unplaced
        /// In a property of a DTO.
        case nested(owner: any Hashable & Sendable, table: String, property: String, index: Int)
        /// Among the DTOs that a session was given.
        case root(Int)
        /// No DTO: the app has made the model.
        case model(ObjectIdentifier)
    }

    let place: Place

    init(_ place: Place) { self.place = place }

    public static func == (left: Self, right: Self) -> Bool {
        switch (left.place, right.place) {
        case (.unplaced, .unplaced): true
        case (.nested(let owner, let table, let property, let index), .nested(let other, let second, let name, let at)):
            index == at && property == name && table == second && AnyHashable(owner) == AnyHashable(other)
        case (.root(let number), .root(let other)): number == other
        case (.model(let object), .model(let other)): object == other
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch place {
        case .unplaced: hasher.combine(0)
        case .nested(let owner, _, let property, let index):
            owner.hash(into: &hasher)
            hasher.combine(property)
            hasher.combine(index)
        case .root(let number): hasher.combine(number)
        case .model(let object): hasher.combine(object)
        }
    }
}

extension Occurrence: CustomStringConvertible {
    /// The way to the place, from the object that has an id.
    public var description: String {
        switch place {
        case .unplaced: "?"
        case .nested(let owner, let table, let property, let index):
            (owner is Occurrence ? "\(owner)" : "\(table)(\(owner))") + ".\(property)[\(index)]"
        case .root(let number): "root \(number)"
        case .model: "new"
        }
    }
}

/// As its text. No table has such a column: it is what an id must be.
extension Occurrence: Storable {
    public static var columns: [Column] { [Column(.text)] }
    public static func probe(_ n: Int) -> Self { Self(.root(n)) }
    public static func read(_ cursor: RowCursor, at position: inout RowPosition) throws -> Self {
        throw GraphError(.misuse, "DTOs without an id are not stored; give the record an id")
    }
    public func encode(into values: inout [StoredValue]) { values.append(.text(description)) }
}

extension Mapping where D: KeylessDTO {
    /// - Parameters:
    ///   - make: the model's initializer; called once for each place that the session has not seen.
    ///   - properties: one entry for each property of the schema.
    @inlinable @inline(__always)
    public init(_ make: @escaping (D) throws -> D.Model, @MappingBuilder<D> properties: () -> [Step<D>]) {
        let places = Places<D.Model>()
        self.init(
            steps: properties() + [.place(places)], passes: Passes(placing: places),
            make: { dto, _ in try make(dto.pointee) })
    }
}

extension Step where D: KeylessDTO {
    /// In the place of the entry for an id.
    @usableFromInline static func place(_ places: Places<D.Model>) -> Step<D> {
        var step = Step<D>()
        step.idOf = { places.place(of: $0) }
        return step
    }
}

extension Passes where D: KeylessDTO {
    @inlinable @inline(__always) init(placing places: Places<D.Model>) {
        self.init(
            make: { table in
                table.adopt()
                let isProgress = try table.makeEach()
                for id in table.made { if let model = table.model(id) { places.put(model, at: id) } }
                return isProgress
            },
            offerAll: { table, dtos in
                for dto in dtos { withUnsafePointer(to: dto) { _ = table.offer($0, as: places.nextRoot()) } }
            },
            models: { table, _ in try places.takeRoots().map { try table.required($0) } })
    }
}

/// Where the models of keyless DTOs came from.
@usableFromInline final class Places<Model: AnyObject> {
    private var places: [ObjectIdentifier: (model: WeakReference, place: Occurrence)] = [:]
    private var limit = 1024
    private var roots: [Occurrence] = []
    private var rootCount = 0

    @usableFromInline init() {}

    /// The model's place; one of its own if no DTO made it.
    @usableFromInline func place(of model: Model) -> Occurrence {
        let key = ObjectIdentifier(model)
        if let known = places[key], known.model.object === model { return known.place }
        return Occurrence(.model(key))
    }

    @usableFromInline func put(_ model: Model, at place: Occurrence) {
        if places.count >= limit {
            places = places.filter { $0.value.model.object != nil }
            limit = max(1024, places.count * 2)
        }
        places[ObjectIdentifier(model)] = (WeakReference(model), place)
    }

    @usableFromInline func nextRoot() -> Occurrence {
        rootCount += 1
        roots.append(Occurrence(.root(rootCount)))
        return roots[roots.count - 1]
    }

    @usableFromInline func takeRoots() -> [Occurrence] {
        defer { roots = [] }
        return roots
    }
}
