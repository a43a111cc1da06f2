/// Ordered lists of objects that a foreign key gives to their owner: a column of theirs has their positions.
extension Many {
    /// Orders the objects that their foreign key gives to an owner by an integer column of theirs, and writes it: the app
    /// moves, inserts and removes objects in the model's array, and a save gives the fewest of them new positions. At equal
    /// positions they are in the order of their keys.
    ///
    /// The array decides: a model need not have the position. If it has, by a `Field`, it is set once the objects are saved.
    /// Removing an object leaves a gap, and what is put before the first one gets a lower position than that, which may be
    /// negative.
    ///
    /// ```swift
    /// Many(TrackRecord.self, by: \.album, \.tracks).ordered(by: \.position)   // and Unmapped(\.position, initial: 0)
    /// ```
    ///
    /// Complexity: O(objects) a save, and O(n log n) for a list of n that is no longer in the order of its positions.
    public func ordered<P: FixedWidthInteger & Storable>(by path: KeyPath<C, P>) -> Self {
        sorted(by: path).writing(
            path, get: { Int(exactly: $0.pointee[keyPath: path]) },
            value: { ($0 as? P).flatMap { Int(exactly: $0) } },
            put: { position, answers in
                guard let position = P(exactly: position) else { return false }
                answers.put(position)
                return true
            })
    }

    /// The same by a column that may be nil. Objects without a position come first.
    public func ordered<P: FixedWidthInteger & Storable>(by path: KeyPath<C, P?>) -> Self {
        sorted(by: path).writing(
            path, get: { $0.pointee[keyPath: path].flatMap { Int(exactly: $0) } },
            value: { ($0 as? P).flatMap { Int(exactly: $0) } },
            put: { position, answers in
                guard let position = P(exactly: position) else { return false }
                answers.put(Optional(position))
                return true
            })
    }

    private func writing(
        _ path: AnyKeyPath, get: @escaping (UnsafePointer<C>) -> Int?, value: @escaping (Any) -> Int?,
        put: @escaping (Int, Answers) -> Bool
    ) -> Self {
        var tasks = step.tasks
        guard let foreignKey = tasks.inverse, let linked = tasks.objects, let attach = tasks.attach else { return self }
        guard (tasks.childOrder as? ChildOrder<C>)?.count == 1 else {
            tasks.diagnostic = "\(tasks.modelName) is ordered by positions and something else; positions order it alone"
            return replacing(tasks)
        }
        guard let place = C.schema.properties.firstIndex(where: { $0.path == path }) else {
            tasks.diagnostic =
                "\(tasks.modelName) is ordered by \(path), which the schema of \(C.schema.name) does not read"
            return replacing(tasks)
        }
        tasks.attach = { core in
            attach(core)
            guard let index = core.knownTable(C.self)?.inverseIndex(foreignKey) else { return }
            index.link?.isOrdered = true
            core.knownTable(C.self)?.positions.append(PositionColumn(property: place, index: index, put: put))
        }
        tasks.placeChildren = { owners, core in
            guard let children = core.knownTable(C.self) else { return }
            let index = children.inverseIndex(foreignKey)
            guard let walk = index.walk else { return }
            let entry = children.mapping.entries[place].map { children.mapping.steps[$0] }
            let placing = ChildPlacing(children: children, entry: entry, stored: get, number: value)
            for owner in walk.visited?.sorted() ?? Array(owners.identity.models.indices) {
                guard let model = owners.placingOwner(owner, index) else { continue }
                try placing.place(linked(model).compactMap { $0 as? C.Model }, in: walk)
            }
        }
        return replacing(tasks)
    }

    private func replacing(_ tasks: StepTasks<D>) -> Self {
        var copy = self
        copy.step = Step(tasks)
        return copy
    }
}

/// The column of a type's rows that has their positions in the links of owners.
struct PositionColumn {
    /// The property's place in the schema.
    let property: Int
    let index: InverseIndex
    /// Puts a position in the property's type; false if it does not fit.
    let put: (Int, Answers) -> Bool

    /// The position that the walk under way has given to an object.
    func position(of slot: Int) -> Int? { index.walk?.positions[slot] }
}

/// Gives the objects of owners' links positions, where theirs are not in the order of the links.
private struct ChildPlacing<C: Mappable> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
    let children: EntityTable<C>
    /// The entry of the mapping that covers the position.
    let entry: StepTasks<C>?
    let stored: (UnsafePointer<C>) -> Int?
    let number: (Any) -> Int?

    /// - Parameter objects: those of one owner's link, in order.
    func place(_ objects: [C.Model], in walk: OwnershipWalk) throws {
        // One that was evicted is not written.
        let slots = objects.compactMap { children.isDeleted($0) ? nil : children.knownSlot(of: $0) }
        let isNew = slots.map { !children.snapshots.has($0) }
        let positions = try slots.map(position)
        let pairs = zip(slots.indices, slots.indices.dropFirst())
        let isInOrder = pairs.allSatisfy { precedes((slots[$0], positions[$0]), (slots[$1], positions[$1])) }
        if isInOrder, !isNew.contains(true) { return }
        for (index, position) in ListPositions.assigned(positions) {
            walk.positions[slots[index]] = position
            _ = children.partial?.compare(slots[index])
        }
    }

    /// The position that a save would write; nil for that of a new object, which is yet to have one.
    private func position(of slot: Int) throws -> Int? {
        guard children.snapshots.has(slot), let model = children.model(at: slot) else { return nil }
        guard let entry, !children.isUnedited(entry.isClean, slot, model),
            let value = try entry.value(of: model, children.snapshot(slot), children.core)
        else { return stored(children.snapshots.pointer(slot)) }
        return number(value)
    }

    /// Whether a load would have them in that order.
    private func precedes(_ left: (slot: Int, position: Int?), _ right: (slot: Int, position: Int?)) -> Bool {
        if left.position != right.position { return (left.position ?? .min) < (right.position ?? .min) }
        guard let first = children.model(at: left.slot), let second = children.model(at: right.slot) else {
            return true
        }
        return ChildOrder<C>.precedes(children.mapping.idOf(first), children.mapping.idOf(second))
    }
}

/// The fewest new positions for the elements of a list.
enum ListPositions {
    /// - Parameter positions: those that the elements have, in the order in which they are to be; nil for one that has none.
    /// - Returns: by index, the positions of elements that get one. What stays is a longest run that leaves room for what is
    ///   between. Complexity: O(n log n).
    static func assigned(_ positions: [Int?]) -> [Int: Int] {
        // A column may hold any number; beyond these, sums could overflow.
        let isNear = positions.allSatisfy { (-farthest...farthest).contains($0 ?? 0) }
        var result = positions
        let staying = isNear ? longestRun(positions) : []
        for index in result.indices where !staying.contains(index) { result[index] = nil }
        fill(&result)
        var assigned: [Int: Int] = [:]
        for (index, position) in result.enumerated() where position != positions[index] { assigned[index] = position }
        return assigned
    }

    private static let farthest = 1 << 61

    /// The indices of a longest run in which each is farther from the one before than there are elements between.
    private static func longestRun(_ positions: [Int?]) -> Set<Int> {
        let known = positions.indices.filter { positions[$0] != nil }
        func rest(_ index: Int) -> Int { (positions[index] ?? 0) - index }
        // Equal ones may follow each other: by rank they rise.
        let sorted = known.sorted { (rest($0), $0) < (rest($1), $1) }
        var ranks = [Int?](repeating: nil, count: positions.count)
        for (rank, index) in sorted.enumerated() { ranks[index] = rank }
        return ListEdit.longestRun(ranks)
    }

    /// Counts on from the element before, or backwards from the first that has a position; from zero if none has.
    private static func fill(_ positions: inout [Int?]) {
        guard let first = positions.firstIndex(where: { $0 != nil }) else {
            positions = Array(positions.indices)
            return
        }
        for index in positions.indices where positions[index] == nil {
            if index < first {
                positions[index] = positions[first].map { $0 - (first - index) }
            } else {
                positions[index] = positions[index - 1].map { $0 + 1 }
            }
        }
    }
}

extension EntityTable {
    /// Gives the objects of ordered links positions, for the save under way.
    func placeChildren() throws { for step in placingSteps { try step.placeChildren?(self, core) } }

    /// The model of an owner whose link is known, and is written.
    fileprivate func placingOwner(_ slot: Int, _ index: InverseIndex) -> D.Model? {
        guard !identity.deleted.contains(slot), !vanished.contains(slot),
            index.isFilled(slot) || !snapshots.has(slot)
        else { return nil }
        return model(at: slot)
    }

    /// The slots of objects that the walk has given positions.
    var placedSlots: [Int] { positions.flatMap { $0.index.walk.map { Array($0.positions.keys) } ?? [] } }

    /// Lets models that have their positions take those that are about to be written, once they are, unless the app sets
    /// others meanwhile.
    func followPositions(_ dto: D, _ slot: Int, _ model: D.Model, in plan: inout WritePlan) throws {
        for column in positions where column.position(of: slot) != nil {
            guard let entry = mapping.entries[column.property], case let step = mapping.steps[entry],
                let read = step.read
            else { continue }
            let before = try storedValues(step, column.property, model, dto)
            plan.settle.append { [self] in
                // What does not encode any more is an edit.
                guard let now = try? storedValues(step, column.property, model, dto), now == before else { return }
                // An integer that a save has written converts back, or else the app keeps its own.
                withUnsafePointer(to: dto) { try? read($0, model) }
            }
        }
    }
}
