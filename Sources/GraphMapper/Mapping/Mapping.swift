/// A DTO that a mapping can be made for: it has an id, and a class for its model.
public typealias Mappable = DTO & Identifiable

/// How one DTO type becomes one model type and back. A value; not `Sendable`, so that it may hold key paths to
/// main-actor properties.
public struct Mapping<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    @usableFromInline let steps: [StepTasks<D>]
    let passes: Passes<D.ID>
    // The steps' closures, chained by task: a loop over an array of closures would retain each.
    @usableFromInline let isSame: (UnsafePointer<D>, UnsafePointer<D>) -> Bool
    let isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool
    let readAll: (UnsafePointer<D>, D.Model) throws -> Void
    let visit: Visit?
    /// The links, with what a load asks of them at each level.
    let followed: [Followed]
    @usableFromInline let hasNested: Bool
    /// How objects are copied, if the DTO is a class.
    @usableFromInline let objects: ObjectAccess<D>?
    /// Whether a DTO may leave a property open.
    @usableFromInline let hasGaps: Bool
    /// For each property of the schema, the step that covers it.
    let entries: [Int?]
    /// What appends the stored values of a row's columns, and of each ordered link, with its place in the schema.
    let columns: Encode
    let lists: [(place: Int, encode: Encode)]
    /// What appends the stored values of a row's key.
    let key: Encode
    /// Makes a model; throws ``NotYet`` when one that it needs is not made.
    let make: (UnsafeRawPointer, SessionCore) throws -> AnyObject
    /// For DTOs without an id: what takes them in by their place, the places of those that were taken in last, and what
    /// notes where a model came from.
    var offerPlaced: ((LoadBatch<D>, [D]) -> Void)?
    var placedRoots: (() -> [D.ID])?
    var noteMade: ((D.Model, D.ID) -> Void)?
    @usableFromInline let idOf: (AnyObject) -> D.ID
    private let hasID: Bool
    let diagnostics: [String]
    /// Calls back when a property of the model is set; nil if nobody listens.
    var track: Tracking<D.Model>.Track?

    /// - Parameters:
    ///   - make: the model's initializer; called once for each object that the session has not seen.
    ///   - properties: one entry for each property of the schema.
    @inlinable @inline(__always)
    public init(_ make: @escaping (D) throws -> D.Model, @MappingBuilder<D> properties: () -> [Step<D>]) {
        self.init(
            steps: properties(), passes: Passes(),
            make: { dto, _ in try make(dto.assumingMemoryBound(to: D.self).pointee) })
    }

    /// For models that must be given other models when they are made.
    ///
    /// - Parameter link: the links whose models the initializer needs. They are made first.
    @inlinable @inline(__always)
    public init<each L: NeededLink>(
        needing link: repeat KeyPath<D, each L>, make: @escaping (D, repeat (each L).Shape) throws -> D.Model,
        @MappingBuilder<D> properties: () -> [Step<D>]
    ) {
        var needed: Set<AnyKeyPath> = []
        func need(_ path: AnyKeyPath) { needed.insert(path) }
        repeat need(each link)
        self.init(
            steps: properties(), needed: needed, passes: Passes(),
            make: { dto, core in
                let dto = dto.assumingMemoryBound(to: D.self).pointee
                return try make(dto, repeat try (each L).needed(dto[keyPath: each link], core))
            })
    }

    @usableFromInline
    init(
        steps unnumbered: [Step<D>], needed: Set<AnyKeyPath> = [], passes: Passes<D.ID>,
        make: @escaping (UnsafeRawPointer, SessionCore) throws -> AnyObject
    ) {
        var steps = unnumbered.map(\.tasks)
        for index in steps.indices { steps[index].isNeeded = steps[index].property.map(needed.contains) ?? false }
        let links = steps.indices.filter { steps[$0].link != nil }
        for (bit, index) in zip(0..<64, links) { steps[index].bit = 1 << UInt64(bit) }
        self.steps = steps
        objects = D.schema.objects as? ObjectAccess<D>
        self.passes = passes
        isSame = Self.comparison(steps.filter { $0.isSame != nil }[...])
        isClean = Self.check(steps[...])
        readAll = Self.read(steps.filter { $0.read != nil }[...])
        let visited = steps.filter { $0.visit != nil }
        visit = visited.isEmpty ? nil : Self.visit(visited[...])
        followed = steps.enumerated().compactMap { Followed($0.offset, $0.element) }
        hasNested = steps.contains { $0.offerNested != nil }
        hasGaps = steps.contains { $0.gap != nil }
        entries = D.schema.properties.map { property in steps.firstIndex { $0.property == property.path } }
        let properties = D.schema.properties
        func encoder(_ place: Int) -> Encode {
            let property = properties[place]
            let encode =
                steps.lazy.filter { $0.property == property.path }.compactMap(\.encode).first
                ?? { property.encode($0.pointee, &$1) }
            return { encode($0.assumingMemoryBound(to: D.self), &$1) }
        }
        func encoder(_ places: ArraySlice<Int>) -> Encode {
            guard let place = places.first else { return { _, _ in } }
            let first: Encode = encoder(place)
            guard places.count > 1 else { return first }
            let rest: Encode = encoder(places.dropFirst())
            return {
                first($0, &$1)
                rest($0, &$1)
            }
        }
        columns = encoder(properties.indices.filter { !properties[$0].isNested && !properties[$0].isList }[...])
        key =
            properties.firstIndex(where: \.isKey).map(encoder) ?? {
                $0.assumingMemoryBound(to: D.self).pointee.id.encode(into: &$1)
            }
        lists = properties.indices.filter { properties[$0].isList }.map { ($0, encoder($0)) }
        self.make = make
        var diagnostics: [String] = []
        let name = D.schema.name
        let keyPath = D.schema.key?.path
        if let id = steps.lazy.compactMap({ $0.property == keyPath ? $0.idOf : nil }).first {
            idOf = id
            hasID = true
        } else {
            let diagnostic =
                steps.contains { $0.property == keyPath && keyPath != nil }
                ? "\(name).id: the model keeps it as another type; give the DTO an id of the model's type, and its Field no "
                    + "conversion"
                : "\(name): no Field(\\.id, …) says where the model keeps its id"
            // Never called: a session with a mistaken mapping has no tables, and `id(of:)` throws.
            idOf = { _ in preconditionFailure(diagnostic) }
            hasID = false
            diagnostics.append(diagnostic)
        }
        for property in D.schema.properties {
            let count = steps.count { $0.property == property.path }
            if count == 0 {
                diagnostics.append(
                    "\(name).\(property.name): no entry of the mapping covers it; Unmapped(…) says so on purpose")
            } else if count > 1 {
                diagnostics.append("\(name).\(property.name): \(count) entries of the mapping cover it")
            }
        }
        for step in steps {
            guard let property = step.property, D.schema.property(at: property) == nil else { continue }
            diagnostics.append("\(name): the mapping has an entry for \(property), which the schema does not read")
        }
        if D.self is AnyObject.Type, objects == nil {
            diagnostics.append("\(name): it is a class, so its schema must say how a blank object is made")
        }
        for step in steps where !(D.self is AnyObject.Type) && step.offerNested != nil {
            for target in step.targets where target is AnyObject.Type {
                diagnostics.append("\(name): a struct cannot nest \(target), which is a class; use a Ref")
            }
        }
        diagnostics += steps.compactMap(\.diagnostic).map { "\(name): \($0)" }
        for (path, group) in Dictionary(grouping: steps.filter { $0.modelPath != nil }, by: \.modelPath)
        where group.count > 1 {
            diagnostics.append("\(name): \(group.count) entries of the mapping set \(path.map { "\($0)" } ?? "?")")
        }
        for (key, group) in Dictionary(grouping: steps.filter { $0.inverse != nil }, by: \.inverse)
        where group.count > 1 {
            diagnostics.append(
                "\(name): \(group.count) entries of the mapping are the other side of \(key.map { "\($0)" } ?? "?"); "
                    + "a foreign key has one")
        }
        if links.count > 64 {
            diagnostics.append("\(name): it has \(links.count) links; a mapping has at most 64, so split the model")
        }
        self.diagnostics = D.schema.diagnostics + diagnostics
    }

    /// The id that the model has.
    ///
    /// - Throws: ``GraphError`` of kind `.invalidSchema` if no entry of the mapping says where the model keeps it.
    public func id(of model: D.Model) throws -> D.ID {
        guard hasID else { throw GraphError(.invalidSchema, diagnostics.joined(separator: "\n"), type: D.schema.name) }
        return idOf(model)
    }
}

/// Appends the stored values of some properties of the DTO at an address. It does not say of which type, so that loops over
/// several are not generic.
typealias Encode = (UnsafeRawPointer, inout [StoredValue]) -> Void

extension Mapping {
    /// A link, as a load follows it.
    struct Followed {
        /// The index of its step.
        let index: Int
        let gather: (LoadBatch<D>, Range<Int>, Int, Load) throws -> Void
        let offerNested: (([D], Load) throws -> Void)?
        let modelPath: AnyKeyPath?
        let isNeeded: Bool
        let isOnDemand: Bool

        init?(_ index: Int, _ step: StepTasks<D>) {
            guard let gather = step.gather else { return nil }
            self.index = index
            self.gather = gather
            offerNested = step.offerNested
            modelPath = step.modelPath
            isNeeded = step.isNeeded
            isOnDemand = step.isOnDemand
        }
    }

    @usableFromInline typealias Comparison = (UnsafePointer<D>, UnsafePointer<D>) -> Bool
    @usableFromInline typealias Check = (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool
    @usableFromInline typealias Read = (UnsafePointer<D>, D.Model) throws -> Void

    @usableFromInline typealias Visit = (AnyObject, Int, SessionCore) throws -> Void

    // One closure for the closures of all steps. By hand: an array of closures, or a generic function over them, would wrap
    // each in two more. Three are called by one, since each call into the chain costs as much as a comparison.

    private static func comparison(_ steps: ArraySlice<StepTasks<D>>) -> Comparison {
        guard let first = steps.first?.isSame else { return { _, _ in true } }
        guard steps.count > 1 else { return first }
        guard steps.count > 3, let second = steps[steps.startIndex + 1].isSame,
            let third = steps[steps.startIndex + 2].isSame
        else {
            let rest = comparison(steps.dropFirst())
            return { first($0, $1) && rest($0, $1) }
        }
        let rest = comparison(steps.dropFirst(3))
        return { first($0, $1) && second($0, $1) && third($0, $1) && rest($0, $1) }
    }

    private static func check(_ steps: ArraySlice<StepTasks<D>>) -> Check {
        guard let step = steps.first else { return { _, _, _ in true } }
        let first = step.isClean
        guard steps.count > 1 else { return first }
        guard steps.count > 3 else {
            let rest = check(steps.dropFirst())
            return { try first($0, $1, $2) && rest($0, $1, $2) }
        }
        let second = steps[steps.startIndex + 1].isClean
        let third = steps[steps.startIndex + 2].isClean
        let rest = check(steps.dropFirst(3))
        return { try first($0, $1, $2) && second($0, $1, $2) && third($0, $1, $2) && rest($0, $1, $2) }
    }

    private static func read(_ steps: ArraySlice<StepTasks<D>>) -> Read {
        guard let first = steps.first?.read else { return { _, _ in } }
        guard steps.count > 1 else { return first }
        guard steps.count > 3, let second = steps[steps.startIndex + 1].read,
            let third = steps[steps.startIndex + 2].read
        else {
            let rest = read(steps.dropFirst())
            return {
                try first($0, $1)
                try rest($0, $1)
            }
        }
        let rest = read(steps.dropFirst(3))
        return {
            try first($0, $1)
            try second($0, $1)
            try third($0, $1)
            try rest($0, $1)
        }
    }

    private static func visit(_ steps: ArraySlice<StepTasks<D>>) -> Visit {
        guard let first = steps.first?.visit else { return { _, _, _ in } }
        guard steps.count > 1 else { return first }
        guard steps.count > 3, let second = steps[steps.startIndex + 1].visit,
            let third = steps[steps.startIndex + 2].visit
        else {
            let rest = visit(steps.dropFirst())
            return {
                try first($0, $1, $2)
                try rest($0, $1, $2)
            }
        }
        let rest = visit(steps.dropFirst(3))
        return {
            try first($0, $1, $2)
            try second($0, $1, $2)
            try third($0, $1, $2)
            try rest($0, $1, $2)
        }
    }
}

/// A mapping of whatever type, to register with a session.
public protocol AnyMapping {
    /// Makes the table of the mapping's type in a session.
    func register(in session: SessionCore)
    /// What is wrong with the mapping, in sentences, once all mappings of the session are registered.
    func validate(in session: SessionCore) -> [String]
}

extension Mapping: AnyMapping {
    /// Makes the table of the mapping's type in a session.
    public func register(in session: SessionCore) { session.register(self) }

    /// What is wrong with the mapping, in sentences; a link to a type that the session does not map is, too.
    public func validate(in session: SessionCore) -> [String] {
        diagnostics
            + steps.flatMap { step in
                step.targets.compactMap { target in
                    session.tables[TypeKey(target)] == nil
                        ? "\(D.schema.name): it links to \(target), for which the session has no mapping" : nil
                }
            }
    }
}

/// One entry of a mapping.
public protocol MappingEntry<D> {
    /// The DTO that the entry is of.
    associatedtype D: Mappable where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D
    /// What the session does with this entry.
    var step: Step<D> { get }
}

/// Gathers the entries of a mapping, one a line.
@resultBuilder public enum MappingBuilder<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// One entry.
    public static func buildExpression(_ entry: some MappingEntry<D>) -> Step<D> { entry.step }
    /// All entries, in order.
    public static func buildBlock(_ steps: Step<D>...) -> [Step<D>] { steps }
}
