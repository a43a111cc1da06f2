/// DTOs side by side, with gaps: those of a table, by slot or in the order of a load.
///
/// What does not look into a DTO is done by address, by code that the tables of all record types share.
@usableFromInline class AnyRecordBuffer {
    @exclusivity(unchecked) @usableFromInline final var start: UnsafeMutableRawPointer
    /// Whether there is a DTO in each place.
    @exclusivity(unchecked) @usableFromInline final var isThere: ContiguousArray<Bool> = []
    @exclusivity(unchecked) private final var capacity = 0
    /// Of one DTO, in bytes.
    @usableFromInline final let size: Int
    @usableFromInline final let stride: Int
    private final let alignment: Int

    fileprivate init(size: Int, stride: Int, alignment: Int) {
        self.size = size
        self.stride = stride
        self.alignment = alignment
        start = .allocate(byteCount: 0, alignment: alignment)
    }

    deinit { start.deallocate() }

    /// How many places there are.
    @inlinable final var count: Int { isThere.count }
    @inlinable final var isEmpty: Bool { isThere.isEmpty }
    @inlinable final var indices: Range<Int> { isThere.indices }

    @inlinable final func has(_ place: Int) -> Bool { place < isThere.count && isThere[place] }

    /// Where the DTO in a place lies.
    @inlinable final func address(_ place: Int) -> UnsafeRawPointer { UnsafeRawPointer(start + place &* stride) }

    @usableFromInline final func reserve(_ count: Int) {
        guard count > capacity else { return }
        let new = UnsafeMutableRawPointer.allocate(byteCount: count * stride, alignment: alignment)
        // Swift's values may be moved byte by byte, but for those with weak references in them, which no DTO stores.
        new.copyMemory(from: start, byteCount: self.count * stride)
        start.deallocate()
        (start, capacity) = (new, count)
        isThere.reserveCapacity(count)
    }

    /// Adds gaps until there are so many places.
    final func extend(to count: Int) {
        guard self.count < count else { return }
        if count > capacity { reserve(max(count, capacity * 2, 16)) }
        while self.count < count { isThere.append(false) }
    }

    /// Copies the DTO at an address to a place.
    @usableFromInline func put(_ dto: UnsafeRawPointer, at place: Int) {}

    /// Makes a place a gap.
    func remove(_ place: Int) {}

    /// Moves the DTO in a place to one of other rows.
    final func move(_ place: Int, to other: AnyRecordBuffer, at target: Int) {
        other.remove(target)
        (other.start + target &* stride).copyMemory(from: start + place &* stride, byteCount: stride)
        isThere[place] = false
        other.isThere[target] = true
    }

    /// Removes all places.
    fileprivate final func forget() {
        start.deallocate()
        (start, capacity) = (.allocate(byteCount: 0, alignment: alignment), 0)
        isThere = []
    }

    fileprivate final func exchange(with other: AnyRecordBuffer) {
        swap(&start, &other.start)
        swap(&isThere, &other.isThere)
        swap(&capacity, &other.capacity)
    }
}

/// The DTOs of one type.
@usableFromInline final class RecordBuffer<D>: AnyRecordBuffer {
    init() {
        super.init(
            size: MemoryLayout<D>.size, stride: MemoryLayout<D>.stride, alignment: MemoryLayout<D>.alignment)
    }

    deinit { destroy() }

    /// Where the DTO in a place lies.
    @inlinable func pointer(_ place: Int) -> UnsafePointer<D> { address(place).assumingMemoryBound(to: D.self) }

    /// The DTO in a place; nil for a gap, and for places that are not there.
    subscript(place: Int) -> D? {
        get { has(place) ? pointer(place).pointee : nil }
        set {
            guard let newValue else { return remove(place) }
            withUnsafePointer(to: newValue) { put($0, at: place) }
        }
    }

    @usableFromInline override func put(_ dto: UnsafeRawPointer, at place: Int) {
        extend(to: place + 1)
        let target = UnsafeMutablePointer(mutating: pointer(place))
        if isThere[place] {
            target.pointee = dto.assumingMemoryBound(to: D.self).pointee
        } else {
            target.initialize(to: dto.assumingMemoryBound(to: D.self).pointee)
            isThere[place] = true
        }
    }

    override func remove(_ place: Int) {
        guard has(place) else { return }
        isThere[place] = false
        UnsafeMutablePointer(mutating: pointer(place)).deinitialize(count: 1)
    }

    /// Removes all places.
    func removeAll() {
        destroy()
        forget()
    }

    /// Destroys what is there, as many at once as lie side by side.
    private func destroy() {
        var place = 0
        while place < count {
            let first = place
            while has(place) { place += 1 }
            UnsafeMutablePointer(mutating: pointer(first)).deinitialize(count: place - first)
            while place < count, !isThere[place] { place += 1 }
        }
    }

    func copy() -> RecordBuffer {
        let copy = RecordBuffer()
        copy.extend(to: count)
        for place in indices where isThere[place] { copy.put(address(place), at: place) }
        return copy
    }

    /// Makes the rows those of a copy.
    func set(to copy: RecordBuffer) {
        removeAll()
        extend(to: copy.count)
        for place in copy.indices where copy.isThere[place] { put(copy.address(place), at: place) }
    }

    /// Moves each DTO to its new place; those without one go.
    func renumber(_ numbers: SlotNumbers) {
        let old = RecordBuffer()
        exchange(with: old)
        extend(to: numbers.count)
        for place in old.indices where old.isThere[place] {
            if let new = numbers[place] { old.move(place, to: self, at: new) }
        }
    }
}
