/// Values on their way from a mapping's steps to a DTO's initializer: each in the type of its property, in the order of
/// the schema. Nothing is boxed, and nothing is looked up by name.
///
/// A stack: what a DTO nests is made while the DTO's own values lie below. Each value has its type before it, so that one
/// that does not fit is an error and not a crash.
@usableFromInline final class Answers {
    @exclusivity(unchecked) @usableFromInline var start: UnsafeMutableRawPointer
    @exclusivity(unchecked) @usableFromInline var capacity: Int
    /// Where the next value goes, and the next one to be taken. Both are multiples of ``unit``.
    @exclusivity(unchecked) @usableFromInline var end = 0
    @exclusivity(unchecked) @usableFromInline var next = 0

    @inlinable static var unit: Int { 16 }

    @usableFromInline init() {
        capacity = 1024
        start = .allocate(byteCount: capacity, alignment: Self.unit)
    }

    deinit {
        drop(to: 0)
        start.deallocate()
    }

    // Not inlined: an app's module has these once a type, and not once a property.

    /// Puts one value on top.
    @inlinable @inline(never) func put<V>(_ value: V) {
        let place = end + Self.unit
        let top = place + Self.size(of: V.self)
        if top > capacity { grow(to: top) }
        (start + end).initializeMemory(as: Any.Type.self, to: V.self)
        (start + place).initializeMemory(as: V.self, to: value)
        end = top
    }

    /// Puts a value on top for one of another type that lies in memory in the same way.
    @inlinable func put<V>(_ value: V, as type: Any.Type) {
        let place = end
        put(value)
        (start + place).storeBytes(of: type, as: Any.Type.self)
    }

    /// Puts a value on top as what it is inside the box.
    func put(boxed value: Any) {
        func open<V>(_ value: V) { put(value) }
        _openExistential(value, do: open)
    }

    /// The next value, which is gone then.
    @inlinable @inline(never) func take<V>(_ name: StaticString) throws -> V {
        guard next < end else { throw missing(name) }
        guard (start + next).load(as: Any.Type.self) == V.self else { return try cast(name) }
        let place = next + Self.unit
        next = place + Self.size(of: V.self)
        return (start + place).assumingMemoryBound(to: V.self).move()
    }

    /// Takes back the value that was put last, at this place.
    @usableFromInline func takeBack<V>(_ place: Int) throws -> V {
        let unread = next
        defer { (end, next) = (place, unread) }
        next = place
        return try take("a link")
    }

    /// The next value in a box.
    func takeBoxed(_ name: StaticString) throws -> Any {
        func open<V>(_: V.Type) throws -> Any { try take(name) as V }
        guard next < end else { throw missing(name) }
        return try _openExistential((start + next).load(as: Any.Type.self), do: open)
    }

    /// Destroys what nobody has taken, down to a mark.
    @usableFromInline func drop(to mark: Int) {
        func destroy<V>(_: V.Type) {
            let place = next + Self.unit
            (start + place).assumingMemoryBound(to: V.self).deinitialize(count: 1)
            next = place + Self.size(of: V.self)
        }
        while next < end { _openExistential((start + next).load(as: Any.Type.self), do: destroy) }
        end = mark
    }

    /// Adds one to the number at this place.
    @usableFromInline func increment(at place: Int) {
        guard (start + place).load(as: Any.Type.self) == Int.self else { return }
        (start + place + Self.unit).assumingMemoryBound(to: Int.self).pointee += 1
    }

    @inlinable static func size<V>(of _: V.Type) -> Int { (MemoryLayout<V>.size + unit - 1) & ~(unit - 1) }

    @usableFromInline func grow(to count: Int) {
        capacity = max(count, capacity * 2)
        let new = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: Self.unit)
        // Swift's values may be moved byte by byte, but for those with weak references in them, which no DTO stores.
        new.copyMemory(from: start, byteCount: end)
        start.deallocate()
        start = new
    }

    @usableFromInline func missing(_ name: StaticString) -> GraphError {
        GraphError(
            .misuse, "\(name) was read, but the schema has no such property; its closure must always read the same")
    }

    /// A value of another type that can be made into this one, such as one into its optional.
    @usableFromInline func cast<V>(_ name: StaticString) throws -> V {
        let value = try takeBoxed(name)
        guard let value = value as? V else {
            throw GraphError(.invalidSchema, "\(name) needs \(V.self), not \(type(of: value))")
        }
        return value
    }
}
