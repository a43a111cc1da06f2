/// Objects that the app has added, in order, each once. Adding and taking out cost O(1), amortized.
@usableFromInline struct AddedObjects<Model: AnyObject> {
    @usableFromInline var objects: [Model?] = []
    @usableFromInline var places: [ObjectIdentifier: Int] = [:]

    @inlinable var isEmpty: Bool { places.isEmpty }

    @inlinable func contains(_ object: Model) -> Bool { places[ObjectIdentifier(object)] != nil }

    @inlinable mutating func append(_ object: Model) {
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

    @inlinable mutating func removeAll(where isGone: (Model) throws -> Bool) rethrows {
        var kept: [Model] = []
        for object in self where try !isGone(object) { kept.append(object) }
        self = Self(kept)
    }

    @inlinable init() {}

    @inlinable init(_ objects: [Model]) {
        for object in objects { append(object) }
    }
}

extension AddedObjects: Sequence {
    @inlinable func makeIterator() -> some IteratorProtocol<Model> { objects.lazy.compactMap { $0 }.makeIterator() }
}
