/// The second walk, which only a conflict costs: finds every object whose copies differ, and the shortest way to
/// each differing copy.
struct Certificate {
    /// A DTO, and where it stands: from a root, and in the DTO that nests it.
    private struct Place {
        let type: any DTO.Type
        let dto: Any
        var path: String?
        var occurrence: String?
    }

    private struct Copy {
        let path: String
        let values: [(String, String?)]
    }

    /// The error for the first conflict by type and id. It does not depend on the order of the roots: paths start
    /// at an id, and everything is sorted.
    static func find(_ roots: [(any DTO.Type, Any)], _ core: SessionCore) -> GraphError? {
        var copies: [String: [Copy]] = [:]
        var names: [String: (type: String, id: String)] = [:]
        var queue: [Place] = roots.map { Place(type: $0.0, dto: $0.1) }
        var next = 0
        while next < queue.count {
            let place = queue[next]
            next += 1
            guard let table = core.tables[ObjectIdentifier(place.type)], let found = table.describe(place.dto) else {
                continue
            }
            // What has no id is the same object as what stands in the same place of a copy.
            let id = place.type is any KeylessDTO.Type ? place.occurrence ?? "root \(next)" : found.id
            let path = place.path ?? "\(found.name)(\(id))"
            let key = "\(found.name)\u{0}\(id)\u{0}\(place.type)"
            names[key] = (found.name, id)
            copies[key, default: []].append(Copy(path: path, values: found.values))
            table.visitNested(place.dto) { type, dto, label in
                let owner = place.type is any KeylessDTO.Type ? id : "\(found.name)(\(id))"
                queue.append(
                    Place(type: type, dto: dto, path: "\(path).\(label)", occurrence: "\(owner).\(label)"))
            }
        }
        for key in copies.keys.sorted() {
            guard let group = copies[key], let name = names[key] else { continue }
            for index in group[0].values.indices {
                var shortest: [String: String] = [:]
                for copy in group {
                    guard let value = copy.values[index].1 else { continue }
                    if let known = shortest[value], (known.count, known) <= (copy.path.count, copy.path) { continue }
                    shortest[value] = copy.path
                }
                guard shortest.count > 1 else { continue }
                let property = group[0].values[index].0
                let list = shortest.sorted { $0.key < $1.key }.map { "\($0.key) at \($0.value).\(property)" }
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
        for step in mapping.steps { step.nested?(dto, visit) }
    }

    func placeName(_ dto: Any) -> String? {
        (dto as? D).map { dto in D.self is any KeylessDTO.Type ? D.schema.name : "\(D.schema.name)(\(dto.id))" }
    }

    /// A DTO's values as text; nil for one that the DTO leaves open.
    func description(_ dto: Any) -> (name: String, id: String, values: [(String, String?)])? {
        guard let dto = dto as? D else { return nil }
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
