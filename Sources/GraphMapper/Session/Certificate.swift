/// The second walk, which only a conflict costs: finds every object whose copies differ, and the shortest way to
/// each differing copy.
struct Certificate {
    private struct Copy {
        let path: String
        let values: [(String, String)]
    }

    /// The error for the first conflict by type and id. It does not depend on the order of the roots: paths start
    /// at an id, and everything is sorted.
    static func find(_ roots: [(any DTO.Type, Any)], _ core: SessionCore) -> GraphError? {
        var copies: [String: [Copy]] = [:]
        var names: [String: (type: String, id: String)] = [:]
        var queue: [(any DTO.Type, Any, String?)] = roots.map { ($0.0, $0.1, nil) }
        var next = 0
        while next < queue.count {
            let (type, dto, parent) = queue[next]
            next += 1
            guard let table = core.tables[ObjectIdentifier(type)], let place = table.describe(dto) else { continue }
            let path = parent ?? "\(place.name)(\(place.id))"
            let key = "\(place.name)\u{0}\(place.id)"
            names[key] = (place.name, place.id)
            copies[key, default: []].append(Copy(path: path, values: place.values))
            table.visitNested(dto) { queue.append(($0, $1, "\(path).\($2)")) }
        }
        for key in copies.keys.sorted() {
            guard let group = copies[key], let name = names[key] else { continue }
            for index in group[0].values.indices {
                var shortest: [String: String] = [:]
                for copy in group {
                    let value = copy.values[index].1
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

    func description(_ dto: Any) -> (name: String, id: String, values: [(String, String)])? {
        guard let dto = dto as? D else { return nil }
        let values = D.schema.properties.filter { !$0.isNested }.map { property in
            (property.name, property.stored(dto).map(\.description).joined(separator: ", "))
        }
        return (D.schema.name, "\(dto.id)", values)
    }
}
