/// Objects that the app has added, in order, each once. Adding and taking out cost O(1), amortized.
struct AddedObjects {
    private var objects: [AnyObject?] = []
    private var places: [ObjectIdentifier: Int] = [:]

    var isEmpty: Bool { places.isEmpty }

    func contains(_ object: AnyObject) -> Bool { places[ObjectIdentifier(object)] != nil }

    mutating func append(_ object: AnyObject) {
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

    mutating func removeAll(where isGone: (AnyObject) throws -> Bool) rethrows {
        var kept: [AnyObject] = []
        for object in self where try !isGone(object) { kept.append(object) }
        self = Self(kept)
    }

    init() {}

    init(_ objects: [AnyObject]) {
        for object in objects { append(object) }
    }
}

extension AddedObjects: Sequence {
    func makeIterator() -> some IteratorProtocol<AnyObject> { objects.lazy.compactMap { $0 }.makeIterator() }
}
