/// Objects that the app has added, in order, each once. Adding and taking out cost O(1), amortized.
struct AddedObjects {
    private struct Entry {
        let object: AnyObject
        /// The slot under which it was registered when it was added; -1 if it was not.
        var slot: Int32
    }

    private var entries: [Entry?] = []
    /// By the objects' addresses.
    private var places = IDIndex<Int>()

    /// Those whose rows are updated if they turn out to be there, by address.
    private var upserts: Set<Int> = []

    var isEmpty: Bool { places.count == 0 }

    /// Whether the object's row is updated if it turns out to be there.
    func isUpsert(_ object: AnyObject) -> Bool { upserts.contains(Self.address(object)) }

    mutating func setUpsert(_ object: AnyObject) { upserts.insert(Self.address(object)) }

    func contains(_ object: AnyObject) -> Bool { places[Self.address(object)] != nil }

    /// The slot under which an object was registered when it was added; nil if it was not.
    func slot(of object: AnyObject) -> Int? {
        guard let place = places[Self.address(object)], let slot = entries[Int(place)]?.slot, slot >= 0 else {
            return nil
        }
        return Int(slot)
    }

    mutating func setSlot(_ slot: Int, of object: AnyObject) {
        if let place = places[Self.address(object)] { entries[Int(place)]?.slot = Int32(truncatingIfNeeded: slot) }
    }

    /// - Parameter slot: the one under which the object was registered; -1 if it was not.
    mutating func append(_ object: AnyObject, slot: Int = -1) {
        let end = Int32(truncatingIfNeeded: entries.count)
        guard places.number(of: Self.address(object), orInsert: end) == end else { return }
        entries.append(Entry(object: object, slot: Int32(truncatingIfNeeded: slot)))
    }

    private static func address(_ object: AnyObject) -> Int { Int(bitPattern: ObjectIdentifier(object)) }

    mutating func remove(_ object: AnyObject) {
        guard let place = places[Self.address(object)] else { return }
        places.remove(Self.address(object))
        upserts.remove(Self.address(object))
        entries[Int(place)] = nil
        // The gaps are closed when they are most of the list.
        if places.count * 2 < entries.count { self = Self(entries.compactMap { $0 }, upserts) }
    }

    mutating func removeAll(where isGone: (AnyObject) throws -> Bool) rethrows {
        self = Self(try entries.filter { try $0.map { try !isGone($0.object) } ?? false }.compactMap { $0 }, upserts)
    }

    /// Numbers the slots anew.
    mutating func renumber(_ numbers: SlotNumbers) {
        for index in entries.indices {
            guard let slot = entries[index]?.slot, slot >= 0 else { continue }
            entries[index]?.slot = Int32(truncatingIfNeeded: numbers[Int(slot)] ?? -1)
        }
    }

    init() {}

    private init(_ entries: [Entry], _ upserts: Set<Int>) {
        for entry in entries { append(entry.object, slot: Int(entry.slot)) }
        self.upserts = upserts.isEmpty ? [] : upserts.intersection(entries.map { Self.address($0.object) })
    }
}

extension AddedObjects: Sequence {
    func makeIterator() -> some IteratorProtocol<AnyObject> { entries.lazy.compactMap { $0?.object }.makeIterator() }
}
