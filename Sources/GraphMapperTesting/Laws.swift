import GraphMapper

/// What can be expected of every good mapping.
public enum Law: Sendable, Hashable, CaseIterable {
    /// DTO → model → DTO gives an equal DTO: property by property, nested ones too; what it leaves unset, a copy may say. Over a backing also: what was
    /// stored is what the session makes of its models.
    case roundTrip
    /// Model → DTO → model gives the same objects with the same links; over a backing: models that are saved into
    /// an empty one and loaded by a fresh session.
    case shape
    /// There are as many instances as distinct ids.
    case identity
    /// A load, then a save, writes nothing.
    case quiet
    /// The result does not depend on the order of the roots.
    case order
    /// If copies of one object differ, the error's text does not depend on the order of the roots.
    case certificate
    /// No model outlives the session and the app's references. For mappings whose cycles are closed by weak links.
    case leaks
}

extension Law {
    /// What usually breaks it, and what to do.
    var advice: String {
        switch self {
        case .roundTrip:
            "A conversion or a property of the model loses something. Where a value can be spelt in several ways, "
                + "generate the spelling that is written."
        case .shape: "A link is lost on one of the two ways: look at its entry, and at the model's setter."
        case .identity: "Two objects share an id, or one has two: look at what the mapping's Field for the id makes."
        case .quiet:
            "The model does not keep what it is given, or a conversion does not undo the other way: look at its "
                + "initializer and setters."
        case .order: "Something remembers which object came first: look at initializers and setters with side effects."
        case .certificate: "A conversion or an initializer throws for one of the copies."
        case .leaks:
            "Strong references make a cycle: make the one that leads back weak or unowned, and map it with Back."
        }
    }
}

/// A law that a mapping does not keep.
public struct BrokenLaw: Error, CustomStringConvertible {
    /// Which one.
    public let law: Law
    /// In what way: a ``Violation`` or a ``LeakFailure``.
    public let underlying: any Error

    /// In what way, which law, what usually breaks it, and how to do without it.
    public var description: String {
        "\(underlying)\nlaw: .\(law). \(law.advice) A mapping that need not keep it: laws: Set(Law.allCases).subtracting([.\(law)])"
    }

    static func named(_ law: Law, _ error: any Error) -> any Error {
        error is Violation || error is LeakFailure ? BrokenLaw(law: law, underlying: error) : error
    }
}

extension Set<Law> {
    /// Runs the check of a law that is among these; what is violated is that law.
    func keep(_ law: Law, _ check: () throws -> Void) throws {
        guard contains(law) else { return }
        do { try check() } catch { throw BrokenLaw.named(law, error) }
    }

    func keep(_ law: Law, _ check: () async throws -> Void) async throws {
        guard contains(law) else { return }
        do { try await check() } catch { throw BrokenLaw.named(law, error) }
    }
}

/// Checks the laws for sessions that only map.
///
/// ```swift
/// try await checkLaws(of: [OrderDTO.mapping, LineDTO.mapping], roots: orders)
/// ```
///
/// Roots that contradict each other are an error of every mapping; for these only ``Law/certificate`` is checked.
///
/// - Parameters:
///   - mappings: what to make sessions of.
///   - roots: DTOs as a session's `map` takes them. Draw ids from a small range, so that objects are shared.
///     They have ids; DTOs without one are checked where they are nested.
///   - laws: which laws to check.
///   - count: how many values to try.
/// - Throws: ``PropertyFailure`` with the smallest counterexample found and a line to replay it.
public func checkLaws<D: Mappable>(
    of mappings: @autoclosure () -> [any AnyMapping], roots: Gen<[D]>, laws: Set<Law> = Set(Law.allCases),
    name: String = #function, count: Int = 100, seed: UInt64? = nil, replay: String? = nil
) async throws where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    let check = MapLaws<D>(mappings: mappings(), laws: laws)
    try GraphSession(nil, check.mappings).validate()
    try GraphMapperTesting.check(roots, name: name, count: count, seed: seed, replay: replay) { try check.run($0) }
}

/// The laws of sessions without a backing.
struct MapLaws<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    let mappings: [any AnyMapping]
    let laws: Set<Law>

    func run(_ roots: [D]) throws {
        try laws.keep(.certificate) { try certificate(roots) }
        if case .conflict = outcome(roots) { return }
        try laws.keep(.leaks) { try leaks(roots) }
        let session = GraphSession(nil, mappings)
        let models = try session.map(roots)
        try laws.keep(.quiet) {
            let changes = try session.changes()
            try ensure(changes.isEmpty, "load, then save: \(changes)")
        }
        try laws.keep(.identity) { try identity(roots, models) }
        let graph = try ModelGraph(models, mappings)
        let records = try models.map { try session.record(D.self, of: $0) }
        try laws.keep(.roundTrip) {
            for (root, record) in zip(roots, records) { try ensureSame(root, record, "DTO → model → DTO") }
        }
        try laws.keep(.shape) {
            let other = GraphSession(nil, mappings)
            let again = try ModelGraph(other.map(records), mappings)
            try withExtendedLifetime(other) { try graph.ensureSame(as: again, "model → DTO → model") }
        }
        try laws.keep(.order) {
            for roots in orders(roots) {
                let other = GraphSession(nil, mappings)
                let turned = try ModelGraph(other.map(roots), mappings)
                try graph.ensureSame(as: turned, "order of the roots")
                try ensureSame(graph.records(in: session), turned.records(in: other), "order of the roots")
            }
        }
    }

    private func identity(_ roots: [D], _ models: [D.Model]) throws {
        try ensure(models.count == roots.count, "one model a root: \(roots.count) roots, \(models.count) models")
        var instances: [D.ID: ObjectIdentifier] = [:]
        for (root, model) in zip(roots, models) {
            let known = instances.updateValue(ObjectIdentifier(model), forKey: root.id)
            try ensure(known ?? ObjectIdentifier(model) == ObjectIdentifier(model), "two instances of id \(root.id)")
        }
        try ensure(Set(instances.values).count == instances.count, "one instance for two ids")
    }

    private func leaks(_ roots: [D]) throws {
        try expectReleased {
            // Weak links last as long as the session does.
            let session = GraphSession(nil, mappings)
            return try withExtendedLifetime(session) { try ModelGraph(session.map(roots), mappings).models }
        }
    }

    private enum Outcome: Equatable {
        case mapped
        case conflict(String)
        case failed(String)
    }

    private func outcome(_ roots: [D]) -> Outcome {
        do {
            try GraphSession(nil, mappings).map(roots)
            return .mapped
        } catch let error as GraphError where error.kind == .conflict {
            return .conflict(error.description)
        } catch {
            return .failed("\(error)")
        }
    }

    /// The roots as they are, and with a copy of one that has a property of another's.
    private func certificate(_ roots: [D]) throws {
        var cases = [roots]
        if let first = roots.first, let last = roots.last, roots.count > 1 {
            for property in D.schema.properties where !property.isKey && !property.isSame(first, last) {
                cases.append(roots + [try D.schema.replacing(property.name, of: first, from: last)])
            }
        }
        for roots in cases {
            guard case .conflict(let text) = outcome(roots) else { continue }
            for turned in orders(roots) {
                let other = outcome(turned)
                try ensure(other == .conflict(text), "certificate: \(text); in another order: \(other)")
            }
        }
    }
}

/// Other orders of a list: backwards, turned, and with odd places first.
func orders<Element>(_ list: [Element]) -> [[Element]] {
    guard list.count > 1 else { return [] }
    let odd = list.indices.filter { $0 % 2 == 1 } + list.indices.filter { $0 % 2 == 0 }
    return [list.reversed(), Array(list[1...]) + [list[0]], odd.map { list[$0] }]
}
