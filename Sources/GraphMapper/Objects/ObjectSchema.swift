/// A DTO that is an object: its class has a model, and an id that can be stored.
public typealias ObjectDTO = AnyObject & Mappable

extension Schema
where D: ObjectDTO, D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// The schema of a class: how a blank object is made, and the properties that are read and written.
    ///
    /// ```swift
    /// static let schema = Schema<LiveUser>("user", LiveUser.init) { row in
    ///     row("id", \.id)
    ///     row("name", \.name)
    ///     row.one("cart", \.cart)
    ///     row.many("friends", \.friends)
    /// }
    /// ```
    ///
    /// A session reads each of these properties once an object, and no others: it copies them to a blank object, which
    /// it keeps. Links of such a copy lead to blank objects that have an id and nothing else.
    ///
    /// - Parameters:
    ///   - name: the table's name.
    ///   - blank: makes an object that belongs to no database.
    ///   - properties: says each property, the id among them.
    ///   - isLive: whether an object is an accessor of a stored one. All live objects of one id are then the same
    ///     object, and the first that a load meets is read. Others are copies, which must agree. It has to be right for
    ///     databases that make a new accessor at each read: copies of copies would have no end.
    @inlinable @inline(__always)
    public init(
        _ name: String, _ blank: @escaping @Sendable () -> D,
        properties: @escaping @Sendable (inout ObjectReader<D>) -> Void,
        isLive: @escaping @Sendable (D) -> Bool = { _ in false }
    ) {
        self.init(
            name,
            { row in
                var reader = ObjectReader<D>(blank(), row: row)
                properties(&reader)
                row = reader.row
                if let error = reader.error { throw error }
                return reader.object
            },
            objects: { key in
                ObjectAccess<D>(
                    copy: { pool, object, id in
                        withUnsafePointer(to: id) { id in
                            var reader = ObjectReader<D>(blank(), copying: object, pool, key, UnsafeRawPointer(id))
                            properties(&reader)
                            return reader.object
                        }
                    },
                    stub: { id in
                        withUnsafePointer(to: id) { id in
                            var reader = ObjectReader<D>(blank(), copying: nil, nil, key, UnsafeRawPointer(id))
                            properties(&reader)
                            return reader.object
                        }
                    },
                    fill: { object, row in
                        var reader = ObjectReader<D>(object, row: row)
                        properties(&reader)
                        if let error = reader.error { throw error }
                    },
                    isLive: isLive,
                    token: { pool, object in pool.token(of: object) },
                    offerAll: { batch, objects in batch.offerObjects(objects) })
            },
            encodeAll: { encoders, object, values in for encode in encoders { encode(object, &values) } },
            read: { _, _ in throw notDecoded(name) }, readAll: { _, _ in throw notDecoded(name) })
    }
}

/// What a schema says of a class, with the types known: a session copies, makes and takes in its objects by it.
public struct ObjectAccess<D: Mappable>: Sendable
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// A copy of an object. Each property is read once; the id is known, and is not read.
    @usableFromInline let copy: @Sendable (ObjectPool<D>, D, D.ID) -> D
    /// An object that has an id and nothing else.
    @usableFromInline let stub: @Sendable (D.ID) -> D
    /// Sets the properties of an object, each as the reader answers.
    let fill: @Sendable (D, RowReader<D>) throws -> Void
    @usableFromInline let isLive: @Sendable (D) -> Bool
    let token: @Sendable (ObjectPool<D>, D) -> Int32
    let offerAll: @Sendable (LoadBatch<D>, [D]) -> Void

    @usableFromInline init(
        copy: @escaping @Sendable (ObjectPool<D>, D, D.ID) -> D, stub: @escaping @Sendable (D.ID) -> D,
        fill: @escaping @Sendable (D, RowReader<D>) throws -> Void,
        isLive: @escaping @Sendable (D) -> Bool, token: @escaping @Sendable (ObjectPool<D>, D) -> Int32,
        offerAll: @escaping @Sendable (LoadBatch<D>, [D]) -> Void
    ) {
        self.copy = copy
        self.stub = stub
        self.fill = fill
        self.isLive = isLive
        self.token = token
        self.offerAll = offerAll
    }
}

@usableFromInline func notDecoded(_ name: String) -> GraphError {
    GraphError(.misuse, "objects of a class are not decoded from rows; use a struct", type: name)
}
