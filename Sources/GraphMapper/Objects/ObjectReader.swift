/// What the schema of a class says its properties to: `row("name", \.name)`.
///
/// It copies an object's properties to a blank one, or fills a blank object from a row.
public struct ObjectReader<D: ObjectDTO> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// The object that is filled.
    @usableFromInline let object: D
    // Copying: where from; nil for a stub, which takes the id alone.
    @usableFromInline let source: D?
    @usableFromInline let pool: ObjectPool<D>?
    /// The place of the id among the properties.
    @usableFromInline let key: Int
    /// The id, which is known when an object is copied; nil when it is filled from a row.
    @usableFromInline let id: UnsafeRawPointer?
    @usableFromInline var position = 0
    @usableFromInline var links = 0
    // Filling from a row.
    @usableFromInline var row: RowReader<D>
    /// The first error; what follows it is skipped.
    @usableFromInline var error: (any Error)?

    @inlinable @inline(__always)
    init(_ object: D, copying source: D?, _ pool: ObjectPool<D>?, _ key: Int, _ id: UnsafeRawPointer) {
        self.object = object
        self.source = source
        self.pool = pool
        self.key = key
        self.id = id
        row = RowReader()
    }

    @inlinable @inline(__always)
    init(_ object: D, row: RowReader<D>) {
        self.object = object
        self.row = row
        source = nil
        pool = nil
        key = -1
        id = nil
    }

    /// A value, kept under `name`.
    @inlinable @inline(__always)
    public mutating func callAsFunction<V: Storable>(
        _ name: StaticString, _ path: @autoclosure () -> any ReferenceWritableKeyPath<D, V> & Sendable
    ) {
        guard let id else { return read(name, path()) }
        let place = position
        position &+= 1
        if place == key {
            // The schema has found that this property has the id's value, and so its type.
            object[keyPath: path()] = id.assumingMemoryBound(to: V.self).pointee
        } else if let source {
            object[keyPath: path()] = source[keyPath: path()]
        }
    }

    /// A link to one object.
    @inlinable @inline(__always)
    public mutating func one<C: ObjectDTO>(
        _ name: StaticString, _ path: @autoclosure () -> any ReferenceWritableKeyPath<D, C?> & Sendable
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard id != nil else { return readOne(name, path()) }
        position &+= 1
        guard let source, let pool else { return }
        if let child = source[keyPath: path()] { object[keyPath: path()] = pool.link(child, links) }
        pool.endLink(links)
        links &+= 1
    }

    /// A link to many objects, in an array.
    @inlinable @inline(__always)
    public mutating func many<C: ObjectDTO>(
        _ name: StaticString, _ path: @autoclosure () -> any ReferenceWritableKeyPath<D, [C]> & Sendable
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard id != nil else {
            let path = path()
            return readMany(name, path) { $0[keyPath: path] = $1 }
        }
        position &+= 1
        guard let source, let pool else { return }
        object[keyPath: path()] = pool.linkAll(source[keyPath: path()], links)
        links &+= 1
    }

    /// A link to many objects, in a list of the database's: one that is an object itself is edited where it is, others
    /// are set.
    @inlinable @_disfavoredOverload
    public mutating func many<L: RandomAccessCollection & RangeReplaceableCollection & SendableMetatype>(
        _ name: StaticString, _ path: @autoclosure () -> any KeyPath<D, L> & Sendable
    )
    where
        L.Element: ObjectDTO, L.Element.Model: AnyObject, L.Element.ID: Storable & Hashable, L.Element.Row == L.Element
    {
        let path = path()
        many(name, path) { object, children in Self.edit(object, path, children) }
    }

    /// A link to many objects, in any random-access collection.
    ///
    /// - Parameter set: makes the object's collection hold these objects, in this order.
    @inlinable @inline(__always)
    public mutating func many<C: ObjectDTO, L: RandomAccessCollection & SendableMetatype>(
        _ name: StaticString, _ path: @autoclosure () -> any KeyPath<D, L> & Sendable,
        set: @escaping @Sendable (D, [C]) -> Void
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C, L.Element == C {
        guard id != nil else { return readMany(name, path(), set) }
        position &+= 1
        guard let source, let pool else { return }
        let children = pool.linkAll(source[keyPath: path()], links)
        if !children.isEmpty { set(object, children) }
        links &+= 1
    }
}

// Off the loops.
extension ObjectReader {
    /// Makes a list hold these objects, replacing no more than differs: an append is one insertion.
    @usableFromInline static func edit<C: ObjectDTO, L: RandomAccessCollection & RangeReplaceableCollection>(
        _ object: D, _ path: KeyPath<D, L>, _ children: [C]
    ) where C.ID: Hashable, L.Element == C {
        var list = object[keyPath: path]
        let old = list.map(\.id)
        let new = children.map(\.id)
        var start = 0
        while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
        var kept = 0
        while kept < min(old.count, new.count) - start, old[old.count - 1 - kept] == new[new.count - 1 - kept] {
            kept += 1
        }
        let range = list.index(list.startIndex, offsetBy: start)..<list.index(list.endIndex, offsetBy: -kept)
        list.replaceSubrange(range, with: children[start..<children.count - kept])
        if let path = path as? ReferenceWritableKeyPath<D, L>, !(L.self is AnyObject.Type) {
            object[keyPath: path] = list
        }
    }

    @usableFromInline
    mutating func read<V: Storable>(_ name: StaticString, _ path: any ReferenceWritableKeyPath<D, V> & Sendable) {
        attempt { reader in
            reader.object[keyPath: path] = try reader.row(name, path)
            reader.recorder?.note { (object: D, values, _) in object[keyPath: path] = try V.decode(values) }
        }
    }

    @usableFromInline
    mutating func readOne<C: ObjectDTO>(
        _ name: StaticString, _ path: any ReferenceWritableKeyPath<D, C?> & Sendable
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        attempt { reader in
            if let recorder = reader.recorder {
                recorder.recordLink(name, path, C.self, isList: false) { (object: D) in
                    object[keyPath: path].map { [$0] } ?? []
                }
                recorder.note { (object: D, values, database) in
                    let id = try C.ID?.decode(values)
                    object[keyPath: path] = try id.map { try database.required(C.self, $0) }
                }
            } else {
                reader.object[keyPath: path] = try reader.row.answer(name, as: C?.self)
            }
        }
    }

    @usableFromInline
    mutating func readMany<C: ObjectDTO, L: RandomAccessCollection & SendableMetatype>(
        _ name: StaticString, _ path: any KeyPath<D, L> & Sendable, _ set: @escaping @Sendable (D, [C]) -> Void
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C, L.Element == C {
        attempt { reader in
            if let recorder = reader.recorder {
                recorder.recordLink(name, path, C.self, isList: true) { (object: D) in
                    Array(object[keyPath: path])
                }
                recorder.note { (object: D, values, database) in
                    let width = C.ID.columns.count
                    set(
                        object,
                        try stride(from: 0, to: values.count, by: width).map { start in
                            try database.required(C.self, C.ID.decode(Array(values[start..<start + width])))
                        })
                }
                if !(L.self is AnyObject.Type), L.self is any RangeReplaceableCollection.Type,
                    !(path is ReferenceWritableKeyPath<D, L>)
                {
                    recorder.note(
                        diagnostic:
                            "\(D.self).\(name): its list is a value that cannot be set; make it a var, or say how")
                }
            } else {
                let answer = try reader.row.answer(name, as: Any.self)
                let list = answer as? L
                set(reader.object, try answer as? [C] ?? list.map(Array.init) ?? reader.row.mismatch(name, L.self))
            }
        }
    }

    private var recorder: Recorder? {
        guard let recorder = row.recorder else { return nil }
        return recorder
    }

    private mutating func attempt(_ body: (inout ObjectReader) throws -> Void) {
        guard error == nil else { return }
        do { try body(&self) } catch { self.error = error }
    }
}

extension RowReader {
    /// The answer to the next property.
    fileprivate mutating func answer<V>(_ name: StaticString, as _: V.Type) throws -> V {
        guard let answers else {
            throw GraphError(.misuse, "objects of a class are not decoded from rows; use a struct", property: "\(name)")
        }
        guard let value = try answers.takeBoxed(name) as? V else { return try mismatch(name, V.self) }
        return value
    }

    fileprivate func mismatch<V>(_ name: StaticString, _: Any.Type) throws -> V {
        throw GraphError(.invalidSchema, "\(name) needs \(V.self)")
    }
}
