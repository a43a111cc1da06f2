/// The second walk, which only a conflict costs: finds every object whose copies differ, and the shortest way to
/// each differing copy.
struct Certificate {
    /// A DTO that the walk has come to. Paths are kept as the step from the one before, as they may be long.
    private struct Place {
        let type: any DTO.Type
        let dto: Any
        let label: String
        let parent: Int?
        /// Of the path, in characters.
        let length: Int
        /// Where it stands in the DTO that nests it.
        var occurrence: String?
    }

    private struct Copy {
        let place: Int
        let values: [(String, String?)]
    }

    private let core: SessionCore
    private var places: [Place] = []
    /// The places that are not walked yet, by the lengths of their paths.
    private var waiting: [Int: [Int]] = [:]
    private var copies: [String: [Copy]] = [:]
    private var names: [String: (type: String, id: String)] = [:]
    /// Objects are walked once: the first way to them is the shortest.
    private var seen: Set<ObjectIdentifier> = []

    private init(_ core: SessionCore) { self.core = core }

    /// The error for the first conflict by type and id. It does not depend on the order of the roots: paths start
    /// at an id, and everything is sorted.
    static func find(_ roots: [(any DTO.Type, Any)], _ core: SessionCore) -> GraphError? {
        var walk = Certificate(core)
        for (number, (type, dto)) in roots.enumerated() {
            guard let name = core.tables[ObjectIdentifier(type)]?.describe(dto) else { continue }
            let label = "\(name.name)(\(type is any KeylessDTO.Type ? "root \(number + 1)" : name.id))"
            walk.add(Place(type: type, dto: dto, label: label, parent: nil, length: label.count))
        }
        while let length = walk.waiting.keys.min(), let level = walk.waiting.removeValue(forKey: length) {
            for place in level.sorted(by: { walk.isBefore($0, $1) }) { walk.visit(place) }
        }
        return walk.conflict()
    }

    private mutating func add(_ place: Place) {
        waiting[place.length, default: []].append(places.count)
        places.append(place)
    }

    /// The order of ways of one length: that of their texts.
    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        if places[left].parent == places[right].parent { return places[left].label < places[right].label }
        return path(left) < path(right)
    }

    private func path(_ place: Int) -> String {
        var labels = [places[place].label]
        var next = places[place].parent
        while let parent = next {
            labels.append(places[parent].label)
            next = places[parent].parent
        }
        return labels.reversed().joined(separator: ".")
    }

    private mutating func visit(_ number: Int) {
        let place = places[number]
        guard let table = core.tables[ObjectIdentifier(place.type)] else { return }
        if let object = table.identity(of: place.dto), !seen.insert(object).inserted { return }
        guard let name = table.describe(place.dto) else { return }
        // What has no id is the same object as what stands in the same place of a copy.
        let isKeyless = place.type is any KeylessDTO.Type
        let id = isKeyless ? place.occurrence ?? place.label : name.id
        let key = "\(name.name)\u{0}\(id)\u{0}\(place.type)"
        names[key] = (name.name, id)
        copies[key, default: []].append(Copy(place: number, values: name.values))
        let owner = isKeyless ? id : "\(name.name)(\(id))"
        table.visitNested(place.dto) { type, dto, label in
            add(
                Place(
                    type: type, dto: dto, label: label, parent: number, length: place.length + 1 + label.count,
                    occurrence: "\(owner).\(label)"))
        }
    }

    private func conflict() -> GraphError? {
        for key in copies.keys.sorted() {
            guard let group = copies[key], let name = names[key] else { continue }
            for index in group[0].values.indices {
                // The first is the shortest.
                var shortest: [String: Int] = [:]
                for copy in group {
                    guard let value = copy.values[index].1, shortest[value] == nil else { continue }
                    shortest[value] = copy.place
                }
                guard shortest.count > 1 else { continue }
                let property = group[0].values[index].0
                let list = shortest.sorted { $0.key < $1.key }.map { "\($0.key) at \(path($0.value)).\(property)" }
                return GraphError(
                    .conflict,
                    "copies of one object differ: \(list.joined(separator: "; ")). Make them agree before mapping",
                    type: name.type, id: name.id, property: property)
            }
        }
        return nil
    }
}

extension Table {
    func forEachNested(_ dto: Any, _ visit: (any DTO.Type, Any, String) -> Void) {
        guard let dto = dto as? D else { return }
        if let pool {
            let token = pool.access.token(pool, dto)
            for step in mapping.steps { step.linked?(self, token, core, visit) }
        } else {
            for step in mapping.steps { step.nested?(dto, visit) }
        }
    }

    /// What is the same for all accessors of an object; nil for values.
    func objectIdentity(_ dto: Any) -> ObjectIdentifier? {
        guard let pool, let dto = dto as? D else { return nil }
        return ObjectIdentifier(pool.objects[Int(pool.access.token(pool, dto))] as AnyObject)
    }

    func placeName(_ dto: Any) -> String? {
        (dto as? D).map { dto in D.self is any KeylessDTO.Type ? D.schema.name : "\(D.schema.name)(\(dto.id))" }
    }

    /// A DTO's values as text; nil for one that the DTO leaves open.
    func description(_ dto: Any) -> (name: String, id: String, values: [(String, String?)])? {
        guard let dto = (dto as? D).map(detached) else { return nil }
        let values = zip(D.schema.properties, mapping.entries).map { property, entry -> (String, String?) in
            let step = entry.map { mapping.steps[$0] }
            if let gap = step?.gap, withUnsafePointer(to: dto, gap.isOpen) { return (property.name, nil) }
            let stored = property.stored(dto).map(\.description)
            return (property.name, (property.isNested ? nestedIDs(dto, step) : stored).joined(separator: ", "))
        }
        return (D.schema.name, "\(dto.id)", values)
    }

    private func nestedIDs(_ dto: D, _ step: Step<D>?) -> [String] {
        var ids: [String] = []
        step?.nested?(dto) { type, child, _ in
            if let name = core.tables[ObjectIdentifier(type)]?.nameOf(child) { ids.append(name) }
        }
        return ids.isEmpty ? ["none"] : ids
    }
}
