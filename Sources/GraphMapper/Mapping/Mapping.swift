/// A DTO that a mapping can be made for: it has an id, and a class for its model.
public typealias Mappable = DTO & Identifiable

/// How one DTO type becomes one model type and back. A value; not `Sendable`, so that it may hold key paths to
/// main-actor properties.
public struct Mapping<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let steps: [Step<D>]
    @usableFromInline let passes: Passes<D>
    // The steps' closures by task: a loop over whole steps would copy them.
    @usableFromInline let comparisons: [(D, D) -> Bool]
    @usableFromInline let readers:
        [(read: (D, D.Model) throws -> Void, isClean: (D, D.Model, SessionCore) throws -> Bool)]
    @usableFromInline let cleanChecks: [(D, D.Model, SessionCore) throws -> Bool]
    @usableFromInline let visits: [(D.Model, Int, SessionCore) throws -> Void]
    @usableFromInline let hasNested: Bool
    /// For each property of the schema, the step that covers it.
    let entries: [Int?]
    /// Makes a model; throws ``NotYet`` when one that it needs is not made.
    @usableFromInline let make: (D, SessionCore) throws -> D.Model
    @usableFromInline let idOf: (D.Model) -> D.ID
    let mistakes: [String]

    /// - Parameters:
    ///   - make: the model's initializer; called once for each object that the session has not seen.
    ///   - properties: one entry for each property of the schema.
    @inlinable @inline(__always)
    public init(_ make: @escaping (D) throws -> D.Model, @MappingBuilder<D> properties: () -> [Step<D>]) {
        self.init(steps: properties(), passes: Passes(), make: { dto, _ in try make(dto) })
    }

    /// For models that must be given other models when they are made.
    ///
    /// - Parameter link: the links whose models the initializer needs. They are made first.
    @inlinable @inline(__always)
    public init<each L: NeededLink>(
        needing link: repeat KeyPath<D, each L>, make: @escaping (D, repeat (each L).Shape) throws -> D.Model,
        @MappingBuilder<D> properties: () -> [Step<D>]
    ) {
        self.init(
            steps: properties(), passes: Passes(),
            make: { dto, core in try make(dto, repeat try (each L).needed(dto[keyPath: each link], core)) })
    }

    @usableFromInline
    init(steps: [Step<D>], passes: Passes<D>, make: @escaping (D, SessionCore) throws -> D.Model) {
        self.steps = steps
        self.passes = passes
        comparisons = steps.compactMap(\.isSame)
        readers = steps.compactMap { step in step.read.map { ($0, step.isClean) } }
        cleanChecks = steps.map(\.isClean)
        visits = steps.compactMap(\.visit)
        hasNested = steps.contains { $0.offerNested != nil }
        entries = D.schema.properties.map { property in steps.firstIndex { $0.property == property.path } }
        self.make = make
        var mistakes: [String] = []
        let name = D.schema.name
        let key = D.schema.key?.path
        if let id = steps.lazy.compactMap({ $0.property == key ? $0.idOf : nil }).first {
            idOf = id
        } else {
            idOf = { _ in .probe(0) }
            mistakes.append("\(name): no Field(\\.id, …) says where the model keeps its id")
        }
        for property in D.schema.properties {
            let count = steps.count { $0.property == property.path }
            if count == 0 {
                mistakes.append(
                    "\(name).\(property.name): no entry of the mapping covers it; Unmapped(…) says so on purpose")
            } else if count > 1 {
                mistakes.append("\(name).\(property.name): \(count) entries of the mapping cover it")
            }
        }
        for step in steps {
            guard let property = step.property, D.schema.property(at: property) == nil else { continue }
            mistakes.append("\(name): the mapping has an entry for \(property), which the schema does not read")
        }
        self.mistakes = D.schema.mistakes + mistakes
    }

    /// The id that the model has.
    public func id(of model: D.Model) -> D.ID { idOf(model) }
}

/// A mapping of whatever type, to register with a session.
public protocol AnyMapping {
    func register(in session: SessionCore)
    func validate(in session: SessionCore) -> [String]
}

extension Mapping: AnyMapping {
    public func register(in session: SessionCore) { session.register(self) }

    public func validate(in session: SessionCore) -> [String] {
        mistakes
            + steps.flatMap { step in
                step.targets.compactMap { target in
                    session.tables[ObjectIdentifier(target)] == nil
                        ? "\(D.schema.name): it links to \(target), for which the session has no mapping" : nil
                }
            }
    }
}

/// One entry of a mapping.
public protocol MappingEntry<D> {
    associatedtype D: Mappable where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D
    var step: Step<D> { get }
}

@resultBuilder public enum MappingBuilder<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    public static func buildExpression(_ entry: some MappingEntry<D>) -> Step<D> { entry.step }
    public static func buildBlock(_ steps: Step<D>...) -> [Step<D>] { steps }
}

/// A link that a model's initializer can need: a `Ref`, or an optional one.
public protocol NeededLink {
    associatedtype Shape
    static func needed(_ link: Self, _ core: SessionCore) throws -> Shape
}

extension Ref: NeededLink where D.Model: AnyObject, D.Row == D, D.ID: Hashable {
    public static func needed(_ link: Self, _ core: SessionCore) throws -> D.Model {
        guard let model = try core.table(D.self).model(link.id) else { throw NotYet(type: D.self, id: "\(link.id)") }
        return model
    }
}

extension Optional: NeededLink where Wrapped: NeededLink {
    public static func needed(_ link: Self, _ core: SessionCore) throws -> Wrapped.Shape? {
        try link.map { try Wrapped.needed($0, core) }
    }
}

/// Thrown while models are made in order of need: the model that this one needs comes later.
@usableFromInline struct NotYet: Error {
    let type: Any.Type
    let id: String
}
