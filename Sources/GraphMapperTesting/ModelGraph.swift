import GraphMapper

/// What the laws need of a mapping, whatever its type.
protocol LawSubject {
    /// The table's name and the id, for a model of the mapping's; nil for any other object.
    func key(of object: AnyObject) throws -> String?
    /// The DTO of a model that the session made by this mapping; nil for any other object.
    func record(of object: AnyObject, in session: GraphSession) throws -> Any?
}

extension Mapping: LawSubject {
    func key(of object: AnyObject) throws -> String? {
        try (object as? D.Model).map { "\(D.schema.name)(\(try id(of: $0)))" }
    }

    func record(of object: AnyObject, in session: GraphSession) throws -> Any? {
        try (object as? D.Model).map { try session.record(D.self, of: $0) }
    }
}

/// The models that can be reached from some of them, found by reflection and not through the mappings, so that it
/// is an independent witness: every stored property that leads to a mapped model is a link.
struct ModelGraph {
    /// For each object, as `table(id)`, its links: the property, and the object there. Sorted, as links by foreign
    /// key have no order; that of lists is part of the DTOs, which are compared too.
    private(set) var links: [String: [String]] = [:]
    private(set) var models: [AnyObject] = []
    private let subjects: [any LawSubject]

    /// - Throws: ``Violation`` if two instances have one id.
    init(_ roots: [AnyObject], _ mappings: [any AnyMapping]) throws {
        subjects = mappings.compactMap { $0 as? any LawSubject }
        var instances: [String: ObjectIdentifier] = [:]
        var waiting = Array(roots.reversed())
        while let model = waiting.popLast() {
            guard let key = try key(of: model) else { continue }
            if let known = instances[key] {
                try ensure(known == ObjectIdentifier(model), "one instance an id: \(key) has two instances")
                continue
            }
            instances[key] = ObjectIdentifier(model)
            models.append(model)
            var found: [(label: String, target: AnyObject)] = []
            var mirror: Mirror? = Mirror(reflecting: model)
            while let now = mirror {
                for child in now.children { try collect(child.value, child.label ?? "?", &found) }
                mirror = now.superclassMirror
            }
            links[key] = try found.map { "\($0.label) → \(try self.key(of: $0.target) ?? "?")" }.sorted()
            waiting += found.reversed().map(\.target)
        }
    }

    private func key(of object: AnyObject) throws -> String? {
        for subject in subjects { if let key = try subject.key(of: object) { return key } }
        return nil
    }

    private func collect(_ value: Any, _ label: String, _ found: inout [(label: String, target: AnyObject)]) throws {
        if value is any Storable { return }
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .class {
            let object = value as AnyObject
            if try key(of: object) != nil { found.append((label, object)) }
            return
        }
        for child in mirror.children { try collect(child.value, label, &found) }
    }

    /// The DTOs that the session makes of the models, by `table(id)`.
    func records(in session: GraphSession) throws -> [String: Any] {
        var records: [String: Any] = [:]
        for model in models {
            guard let key = try key(of: model) else { continue }
            for subject in subjects {
                if let record = try subject.record(of: model, in: session) {
                    records[key] = record
                    break
                }
            }
        }
        return records
    }

    /// Throws ``Violation`` unless both have the same objects and links.
    func ensureSame(as other: ModelGraph, _ law: String) throws {
        guard links != other.links else { return }
        for key in Set(links.keys).union(other.links.keys).sorted() where links[key] != other.links[key] {
            func text(_ list: [String]?) -> String { list?.description ?? "missing" }
            throw Violation(description: "\(law): \(key) has \(text(links[key])), then \(text(other.links[key]))")
        }
    }
}

/// Throws ``Violation`` unless two DTOs are the same, property by property, nested ones and linked objects included;
/// what the first one leaves unset, the other may say.
func ensureSame(_ left: Any, _ right: Any, _ law: String) throws {
    var seen: Set<ObjectIdentifier> = []
    try ensureSame(left, right, law, at: nil, &seen)
}

/// - Parameter seen: the objects that were compared, as they may link to each other in cycles.
private func ensureSame(
    _ left: Any, _ right: Any, _ law: String, at path: String?, _ seen: inout Set<ObjectIdentifier>
) throws {
    func compare<T: DTO>(_ dto: T) throws {
        guard let schema = T.schema as? Schema<T>, let other = right as? T else {
            throw Violation(description: "\(law): \(path ?? "\(dto)") came back as \(right)")
        }
        let place = path ?? "\(schema.name)(\(schema.key.map { text(dto, $0) } ?? "?"))"
        for property in schema.properties {
            let place = "\(place).\(property.name)"
            // What the DTO says nothing of, a copy may have said.
            if property.isUnset(dto) { continue }
            if property.isNested {
                let before = property.nested(dto)
                let after = property.nested(other)
                try ensure(before.count == after.count, "\(law): \(place): \(before.count) DTOs became \(after.count)")
                for index in before.indices {
                    try ensureSame(before[index], after[index], law, at: "\(place)[\(index)]", &seen)
                }
            } else if !property.isSame(dto, other) {
                throw Violation(
                    description: "\(law): \(place): \(text(dto, property)) became \(text(other, property))")
            } else if property.link != nil {
                for (object, copy) in zip(property.nested(dto), property.nested(other))
                where seen.insert(ObjectIdentifier(object as AnyObject)).inserted {
                    try ensureSame(object, copy, law, at: place, &seen)
                }
            }
        }
    }
    func text<T>(_ dto: T, _ property: Property<T>) -> String {
        var values: [StoredValue] = []
        property.encode(dto, &values)
        let list = values.map(\.description).joined(separator: ", ")
        return property.isList ? "[\(list)]" : list
    }
    guard let left = left as? any DTO else { throw Violation(description: "\(law): \(left) is not a DTO") }
    try compare(left)
}

/// Throws ``Violation`` unless both have the same records.
func ensureSame(_ left: [String: Any], _ right: [String: Any], _ law: String) throws {
    for key in Set(left.keys).union(right.keys).sorted() {
        guard let before = left[key] else { throw Violation(description: "\(law): \(key) is new") }
        guard let after = right[key] else { throw Violation(description: "\(law): \(key) is missing") }
        try ensureSame(before, after, law)
    }
}
