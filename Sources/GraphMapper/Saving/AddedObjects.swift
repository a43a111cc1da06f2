/// Objects that the app has added, in order, each once. Adding and taking out cost O(1), amortized.
struct AddedObjects {
    private var objects: [AnyObject?] = []
    /// By the objects' addresses.
    private var places = IDIndex<Int>()

    /// Those whose rows are updated if they turn out to be there, by address.
    private var upserts: Set<Int> = []

    var isEmpty: Bool { places.count == 0 }

    /// Whether the object's row is updated if it turns out to be there.
    func isUpsert(_ object: AnyObject) -> Bool { upserts.contains(Self.address(object)) }

    mutating func setUpsert(_ object: AnyObject) { upserts.insert(Self.address(object)) }

    func contains(address: ObjectIdentifier) -> Bool { places[Int(bitPattern: address)] != nil }

    func contains(_ object: AnyObject) -> Bool { places[Self.address(object)] != nil }

    mutating func append(_ object: AnyObject) {
        let end = Int32(truncatingIfNeeded: objects.count)
        if places.number(of: Self.address(object), orInsert: end) == end { objects.append(object) }
    }

    private static func address(_ object: AnyObject) -> Int { Int(bitPattern: ObjectIdentifier(object)) }

    mutating func remove(_ object: AnyObject) {
        guard let place = places[Self.address(object)] else { return }
        places.remove(Self.address(object))
        upserts.remove(Self.address(object))
        objects[Int(place)] = nil
        // The gaps are closed when they are most of the list.
        if places.count * 2 < objects.count { self = Self(objects.compactMap { $0 }, upserts) }
    }

    mutating func removeAll(where isGone: (AnyObject) throws -> Bool) rethrows {
        var kept: [AnyObject] = []
        for object in self where try !isGone(object) { kept.append(object) }
        self = Self(kept, upserts)
    }

    init() {}

    private init(_ objects: [AnyObject], _ upserts: Set<Int>) {
        for object in objects { append(object) }
        self.upserts = upserts.intersection(objects.map(Self.address))
    }
}

extension AddedObjects: Sequence {
    func makeIterator() -> some IteratorProtocol<AnyObject> { objects.lazy.compactMap { $0 }.makeIterator() }
}
