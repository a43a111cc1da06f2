/// Objects that the app has added, in order, each once. Adding and taking out cost O(1), amortized.
struct AddedObjects<Model: AnyObject> {
    private var objects: [Model?] = []
    private var places: [ObjectIdentifier: Int] = [:]

    var isEmpty: Bool { places.isEmpty }

    func contains(_ object: Model) -> Bool { places[ObjectIdentifier(object)] != nil }

    mutating func append(_ object: Model) {
        guard !contains(object) else { return }
        places[ObjectIdentifier(object)] = objects.count
        objects.append(object)
    }

    mutating func remove(_ object: AnyObject) {
        guard let place = places.removeValue(forKey: ObjectIdentifier(object)) else { return }
        objects[place] = nil
        // The gaps are closed when they are most of the list.
        if places.count * 2 < objects.count { self = Self(objects.compactMap { $0 }) }
    }

    mutating func removeAll(where isGone: (Model) throws -> Bool) rethrows {
        self = Self(try objects.compactMap { $0 }.filter { try !isGone($0) })
    }

    init() {}

    private init(_ objects: [Model]) {
        for object in objects { append(object) }
    }
}

extension AddedObjects: Sequence {
    func makeIterator() -> some IteratorProtocol<Model> { objects.lazy.compactMap { $0 }.makeIterator() }
}
