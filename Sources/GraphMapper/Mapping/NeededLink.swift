/// A link that a model's initializer can need: a `Ref`, or a nested DTO whose type says so; an optional or an array of
/// these.
///
/// ```swift
/// extension CustomerDTO: NeededLink {}
///
/// Mapping<OrderDTO>(needing: \.customer) { order, customer in
///     Order(id: order.id, customer: customer)
/// } properties: { … }
/// ```
public protocol NeededLink {
    /// What the initializer is given: the model, or an optional or an array of it.
    associatedtype Shape
    /// The model that the link names; throws while it is not made.
    static func needed(_ link: Self, _ core: SessionCore) throws -> Shape
}

extension Ref: NeededLink where D.Model: AnyObject, D.Row == D, D.ID: Hashable {
    /// The model that the link names; throws while it is not made.
    public static func needed(_ link: Self, _ core: SessionCore) throws -> D.Model {
        guard let model = try core.table(D.self).model(link.id) else { throw NotYet(type: D.self, id: "\(link.id)") }
        return model
    }
}

extension Optional: NeededLink where Wrapped: NeededLink {
    /// The model that the link names, nil for no link; throws while it is not made.
    public static func needed(_ link: Self, _ core: SessionCore) throws -> Wrapped.Shape? {
        try link.map { try Wrapped.needed($0, core) }
    }
}

extension Array: NeededLink where Element: NeededLink {
    /// The models that the links name, in order; throws while one is not made.
    public static func needed(_ links: Self, _ core: SessionCore) throws -> [Element.Shape] {
        try links.map { try Element.needed($0, core) }
    }
}

extension NeededLink where Self: Mappable, Model: AnyObject, ID: Storable & Hashable, Row == Self {
    /// The model of a nested DTO, a struct or an object; throws while it is not made.
    public static func needed(_ link: Self, _ core: SessionCore) throws -> Model {
        if link is any KeylessDTO {
            throw GraphError(
                .misuse,
                "a DTO without an id is known by its place in its owner, which is made first; let the owner's "
                    + "initializer do without it", type: schema.name)
        }
        guard let model = try core.table(Self.self).model(link.id) else {
            throw NotYet(type: Self.self, id: "\(link.id)")
        }
        return model
    }
}

/// Thrown while models are made in order of need: the model that this one needs comes later.
@usableFromInline struct NotYet: Error {
    let type: Any.Type
    let id: String
}
