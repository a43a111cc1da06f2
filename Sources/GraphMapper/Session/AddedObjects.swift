/// Objects that the app has added, in order, each once. Adding and taking out cost O(1), amortized.
struct AddedObjects {
    private var objects: [AnyObject?] = []
    /// By the objects' addresses.
    private var places: [IDKey<Int>: Int] = [:]

    var isEmpty: Bool { places.isEmpty }

    func contains(_ object: AnyObject) -> Bool { places[Self.key(object)] != nil }

    mutating func append(_ object: AnyObject) {
        let end = objects.count
        if places.value(of: Self.key(object), orInsert: end) == end { objects.append(object) }
    }

    private static func key(_ object: AnyObject) -> IDKey<Int> { IDKey(Int(bitPattern: ObjectIdentifier(object))) }

    mutating func remove(_ object: AnyObject) {
        guard let place = places.removeValue(forKey: Self.key(object)) else { return }
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
