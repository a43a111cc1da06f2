/// The second walk, which only a conflict costs: finds every object whose copies differ, and the shortest way to
/// each differing copy.
struct ConflictReport {
    /// A DTO that the walk has come to. Paths are kept as the step from the one before, as they may be long.
    private struct Place {
        let type: any DTO.Type
        let dto: Any
        let label: String
        let parent: Int?
        /// Of the path, in characters.
        let length: Int
        /// Its number among what its parent nests; of a root, among the roots.
        let number: Int
        /// Where it stands in the DTO that nests it.
        var occurrence: String?
    }

    /// What copies of one object have in common.
    private struct ObjectKey: Hashable {
        let type: String
        /// The id as text, which may be that of several.
        let id: String
        let stored: [StoredValue]
        let dto: ObjectIdentifier

        func isBefore(_ other: Self) -> Bool {
            if (type, id) != (other.type, other.id) { return (type, id) < (other.type, other.id) }
            return DTOContent.stored(stored).exactly < DTOContent.stored(other.stored).exactly
        }
    }

    private struct Copy {
        let place: Int
        let values: [(name: String, content: DTOContent?)]
    }

    private let load: Load
    private var places: [Place] = []
    /// The places that are not walked yet, by the lengths of their paths.
    private var waiting: [Int: [Int]] = [:]
    private var copies: [ObjectKey: [Copy]] = [:]
    /// Objects are walked once: the first way to them is the shortest.
    private var seen: Set<ObjectIdentifier> = []

    private init(_ load: Load) { self.load = load }

    /// The error for the first conflict by type and id. It does not depend on the order of the roots: paths start
    /// at an id, and everything is sorted.
    static func find(_ roots: [(any DTO.Type, Any)], _ load: Load) -> GraphError? {
        walk(roots, load).conflict()
    }

    /// Of each object whose copies differ, the one that comes first or last as one reads the DTOs.
    static func choices(
        _ roots: [(any DTO.Type, Any)], _ load: Load, isFirst: Bool
    ) -> [(any DTO.Type, Any)] {
        let walk = walk(roots, load)
        return walk.copies.keys.sorted { $0.isBefore($1) }.compactMap { key in
            let group = walk.copies[key] ?? []
            guard !(walk.places[group[0].place].type is any KeylessDTO.Type), walk.differing(group).first != nil else {
                return nil
            }
            let ordered = group.map { ($0.place, walk.position($0.place)) }
                .sorted { $0.1.lexicographicallyPrecedes($1.1) }
            return (isFirst ? ordered.first : ordered.last).map { (walk.places[$0.0].type, walk.places[$0.0].dto) }
        }
    }

    private static func walk(_ roots: [(any DTO.Type, Any)], _ load: Load) -> ConflictReport {
        var walk = ConflictReport(load)
        for (number, (type, dto)) in roots.enumerated() {
            guard let name = load.phase(ofType: type)?.describe(dto) else { continue }
            let label = "\(name.name)(\(type is any KeylessDTO.Type ? "root \(number + 1)" : name.id))"
            walk.add(Place(type: type, dto: dto, label: label, parent: nil, length: label.count, number: number))
        }
        while let length = walk.waiting.keys.min(), let level = walk.waiting.removeValue(forKey: length) {
            for place in level.sorted(by: { walk.isBefore($0, $1) }) { walk.visit(place) }
        }
        return walk
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

    /// Where a place stands as one reads the DTOs: the numbers on its way.
    private func position(_ place: Int) -> [Int] {
        var numbers = [places[place].number]
        var next = places[place].parent
        while let parent = next {
            numbers.append(places[parent].number)
            next = places[parent].parent
        }
        return numbers.reversed()
    }

    private mutating func visit(_ number: Int) {
        let place = places[number]
        guard let table = load.phase(ofType: place.type) else { return }
        if let object = table.identity(of: place.dto), !seen.insert(object).inserted { return }
        guard let name = table.describe(place.dto) else { return }
        // What has no id is the same object as what stands in the same place of a copy.
        let isKeyless = place.type is any KeylessDTO.Type
        let id = isKeyless ? place.occurrence ?? place.label : name.id
        let key = ObjectKey(
            type: name.name, id: id, stored: isKeyless ? [] : name.key, dto: ObjectIdentifier(place.type))
        copies[key, default: []].append(Copy(place: number, values: name.values))
        let owner = isKeyless ? id : "\(name.name)(\(id))"
        var count = 0
        table.visitNested(place.dto) { type, dto, label in
            add(
                Place(
                    type: type, dto: dto, label: label, parent: number, length: place.length + 1 + label.count,
                    number: count, occurrence: "\(owner).\(label)"))
            count += 1
        }
    }

    /// The properties in which copies differ, each with its values and the first place of each: that with the shortest
    /// way.
    private func differing(_ group: [Copy]) -> [(name: String, values: [DTOContent: Int])] {
        group[0].values.indices.compactMap { index in
            var places: [DTOContent: Int] = [:]
            for copy in group {
                guard let value = copy.values[index].content, places[value] == nil else { continue }
                places[value] = copy.place
            }
            return places.count > 1 ? (group[0].values[index].name, places) : nil
        }
    }

    private func conflict() -> GraphError? {
        for key in copies.keys.sorted(by: { $0.isBefore($1) }) {
            guard let group = copies[key], let (property, values) = differing(group).first else {
                continue
            }
            let list = Self.texts(Array(values.keys)).map { text, value in
                "\(text) at \(path(values[value] ?? 0)).\(property)"
            }
            return GraphError(
                .conflict,
                "copies of one object differ: \(list.sorted().joined(separator: "; ")). Make them agree before mapping",
                type: key.type, id: key.id, property: property)
        }
        return nil
    }

    /// Values that differ as texts that do: where two look the same, text is shown by its code points and bytes by their
    /// digits.
    private static func texts(_ values: [DTOContent]) -> [(String, DTOContent)] {
        let texts = values.map(\.description)
        // Accented letters that are spelt differently are equal strings.
        return zip(Set(texts).count == texts.count ? texts : values.map(\.exactly), values).map { ($0, $1) }
    }
}

/// What the report needs of a DTO, whatever its type.
struct DTODescription {
    let name: String
    let id: String
    let key: [StoredValue]
    let values: [(name: String, content: DTOContent?)]
}

/// What one property of a DTO holds.
enum DTOContent: Hashable, CustomStringConvertible {
    case stored([StoredValue])
    /// The names of the nested DTOs, such as `item(7)`.
    case nested([String])

    var description: String {
        switch self {
        case .stored(let values): values.map(\.description).joined(separator: ", ")
        case .nested(let names): names.isEmpty ? "none" : names.joined(separator: ", ")
        }
    }

    /// Text by its code points, bytes by their digits.
    var exactly: String {
        guard case .stored(let values) = self else { return description }
        return values.map { value in
            switch value {
            case .text(let text): "\"\(text.unicodeScalars.map { $0.escaped(asASCII: true) }.joined())\""
            case .blob(let bytes): bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            default: value.description
            }
        }.joined(separator: ", ")
    }
}

extension LoadBatch {
    func visitNested(_ dto: Any, _ visit: (any DTO.Type, Any, String) -> Void) {
        guard let dto = dto as? D else { return }
        if let pool {
            let token = pool.access.token(pool, dto)
            for step in mapping.steps { step.linked?(self, token, load, visit) }
        } else {
            for step in mapping.steps { step.nested?(dto, visit) }
        }
    }

    /// What is the same for all accessors of an object; nil for values.
    func identity(of dto: Any) -> ObjectIdentifier? {
        guard let pool, let dto = dto as? D else { return nil }
        return ObjectIdentifier(pool.objects[Int(pool.access.token(pool, dto))] as AnyObject)
    }

    func nameOf(_ dto: Any) -> String? {
        (dto as? D).map { dto in D.self is any KeylessDTO.Type ? D.schema.name : "\(D.schema.name)(\(dto.id))" }
    }

    /// A DTO's values; nil for one that the DTO leaves open.
    func describe(_ dto: Any) -> DTODescription? {
        guard let dto = (dto as? D).map(detached) else { return nil }
        let values = zip(D.schema.properties, mapping.entries).map { property, entry -> (String, DTOContent?) in
            let step = entry.map { mapping.steps[$0] }
            if let gap = step?.gap, withUnsafePointer(to: dto, gap.isOpen) { return (property.name, nil) }
            return (property.name, property.isNested ? .nested(nestedNames(dto, step)) : .stored(property.stored(dto)))
        }
        return DTODescription(name: D.schema.name, id: "\(dto.id)", key: dto.id.storedValues, values: values)
    }

    private func nestedNames(_ dto: D, _ step: StepTasks<D>?) -> [String] {
        var names: [String] = []
        step?.nested?(dto) { type, child, _ in
            if let name = load.phase(ofType: type)?.nameOf(child) { names.append(name) }
        }
        return names
    }
}
