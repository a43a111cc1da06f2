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
