/// A DTO: a value or object that storage or wire speaks.
public protocol DTO: SendableMetatype {
    /// The app's class that this DTO becomes; `Never` for one without.
    associatedtype Model = Never
    /// What the schema makes: `Self`. A class has to say so: `typealias Row = LiveUser`.
    associatedtype Row = Self
    /// The DTO's properties, and how it is made from them.
    static var schema: Schema<Row> { get }
}

/// A property as a schema found it.
public struct Property<D>: Sendable {
    /// The name that the schema gave it.
    public let name: String
    /// The property of the DTO.
    public let path: any PartialKeyPath<D> & Sendable
    /// The columns that it takes; none for ordered links and nested DTOs.
    public let columns: [Column]
    /// What it points to, if it is a link.
    public let link: LinkTarget?
    /// Appends the property's stored values.
    public let encode: @Sendable (D, inout [StoredValue]) -> Void
    /// Whether two DTOs store the same here.
    public let isSame: @Sendable (D, D) -> Bool
    /// Whether the DTO says nothing here: see ``Tristate``.
    public let isUnset: @Sendable (D) -> Bool
    /// Puts the property of a DTO among answers.
    @usableFromInline let put: @Sendable (UnsafePointer<D>, Answers) -> Void
    /// The DTOs that are nested here; none in other properties.
    public let nested: @Sendable (D) -> [any DTO]
    /// Whether it is the DTO's `id`: the key of its table.
    public internal(set) var isKey = false
    typealias Assignment = @Sendable (D, [StoredValue], any ObjectDatabase) throws -> Void
    /// Sets the property of an object from its stored values; links lead to the objects of a database. Nil for structs.
    var assign: Assignment?
    package let type: Any.Type
    /// Whether it is a ``Lazy``, whose columns are not read with the row.
    public let isLazy: Bool

    /// The names of its columns: the property's, with a suffix for each part of a value of several columns. A property
    /// whose name is empty leaves its parts their own names.
    public let columnNames: [String]

    init(
        name: String, path: any PartialKeyPath<D> & Sendable, columns: [Column], link: LinkTarget?,
        encode: @escaping @Sendable (D, inout [StoredValue]) -> Void, isSame: @escaping @Sendable (D, D) -> Bool,
        isUnset: @escaping @Sendable (D) -> Bool, put: @escaping @Sendable (UnsafePointer<D>, Answers) -> Void,
        nested: @escaping @Sendable (D) -> [any DTO] = { _ in [] },
        type: Any.Type
    ) {
        self.name = name
        self.path = path
        self.columns = columns
        self.link = link
        self.encode = encode
        self.isSame = isSame
        self.isUnset = isUnset
        self.put = put
        self.nested = nested
        self.type = type
        isLazy = type is any LazyValue.Type
        columnNames = columns.map { $0.suffix.isEmpty ? name : name.isEmpty ? $0.suffix : "\(name)_\($0.suffix)" }
    }

    /// Nested DTOs are neither columns nor links of the table.
    public var isNested: Bool { link == nil && columns.isEmpty }
    /// Whether it is a list of links, which is kept apart from the row.
    public var isList: Bool { link?.isList ?? false }
}

/// A DTO's named properties and how it is made from them: the DTO's own initializer, called through a reader.
///
/// The closure runs once with a recording reader, which learns names, types and key paths in order, and afterwards
/// once per row. A forgotten property does not compile; swapped key paths and defaulted properties are
/// ``diagnostics``, which opening a store or making a session reports.
public struct Schema<D>: Sendable {
    // Schemas are asked for at every turn: a copy is one reference.
    @usableFromInline let parts: SchemaParts<D>

    /// The table's name.
    @inlinable public var name: String { parts.name }
    /// The properties, in the order in which they are read.
    @inlinable public var properties: [Property<D>] { parts.properties }
    /// The columns of all properties, each with its name for a suffix: what a value of several columns spans.
    @inlinable public var columns: [Column] { parts.columns }
    /// The property that is the DTO's `id`.
    @inlinable public var key: Property<D>? { parts.key }
    /// The names of a row's columns.
    @inlinable public var columnNames: [String] { parts.columnNames }
    /// Appends the values of the columns.
    package var encode: @Sendable (D, inout [StoredValue]) -> Void { parts.encode }
    /// The places of ordered links.
    package var lists: [Int] { parts.lists }
    /// Whether a property is ``Lazy``.
    @usableFromInline package var hasLazy: Bool { parts.hasLazy }
    /// What is wrong with the schema, in sentences. Empty for a good one.
    @inlinable public var diagnostics: [String] { parts.diagnostics }
    /// Makes a DTO from what the reader answers.
    @inlinable public var make: @Sendable (inout RowReader<D>) throws -> D { parts.make }
    /// Makes a DTO from the row under a cursor, from a position on, where an error leaves it.
    package var read: @Sendable (RowCursor, inout RowPosition) throws -> D { parts.read }
    /// How the objects of a class are copied, an ``ObjectAccess``; nil for structs.
    var objects: (any Sendable)? { parts.objects }

    /// - Parameters:
    ///   - name: the table's name.
    ///   - make: calls the DTO's initializer with `row("column", \.property)` for each property.
    @inlinable @inline(__always)
    public init(_ name: String, _ make: @escaping @Sendable (inout RowReader<D>) throws -> D) {
        self.init(
            name, make, objects: nil,
            encodeAll: { encoders, dto, values in for encode in encoders { encode(dto, &values) } },
            read: { cursor, position in
                var reader = RowReader<D>(cursor, at: position)
                defer { position = reader.position }
                return try make(&reader)
            },
            readAll: { cursor, next in
                var rows: [D] = []
                var reader = RowReader<D>(cursor)
                while try next() {
                    reader.position = RowPosition()
                    do {
                        rows.append(try make(&reader))
                    } catch {
                        throw RowFailure(error: error, position: reader.position)
                    }
                }
                return rows
            })
    }

    /// - Parameter objects: makes the access to a class's objects from the place of their id.
    @usableFromInline
    init(
        _ name: String, _ make: @escaping @Sendable (inout RowReader<D>) throws -> D,
        objects: ((Int) -> any Sendable)?, encodeAll: @escaping RowEncoding<D>,
        read: @escaping @Sendable (RowCursor, inout RowPosition) throws -> D,
        readAll: @escaping @Sendable (RowCursor, () throws -> Bool) throws -> [D]
    ) {
        parts = SchemaParts(name, make, objects: objects, encodeAll: encodeAll, read: read, readAll: readAll)
    }

    /// The property at `path`, if the schema has it. Complexity: O(number of properties).
    public func property(at path: AnyKeyPath) -> Property<D>? { properties.first { $0.path == path } }

    /// `dto` with the property called `name` as in `other`. Only that property differs.
    public func replacing(_ name: String, of dto: D, from other: D) throws -> D {
        let properties = properties
        return try make(answering: { index in
            (properties[index].name == name ? other : dto)[keyPath: properties[index].path]
        })
    }

    /// `dto` with another value of one property.
    package func replacing<V: Storable>(_ path: AnyKeyPath, of dto: D, with value: V) throws -> D {
        let properties = properties
        return try make(answering: { properties[$0].path == path ? value : dto[keyPath: properties[$0].path] })
    }

    /// `dto` with the ``Lazy`` values that its row holds: the stored values of all of them, in the order of the schema.
    package func reading(_ stored: ArraySlice<StoredValue>, of dto: D) throws -> D {
        let properties = properties
        var lazies: [Int: any LazyValue] = [:]
        var rest = stored
        for place in properties.indices {
            guard let type = properties[place].type as? any LazyValue.Type else { continue }
            let width = properties[place].columns.count
            lazies[place] = try type.inverseIndex(Array(rest.prefix(width)))
            rest = rest.dropFirst(width)
        }
        return try make(answering: { lazies[$0] ?? dto[keyPath: properties[$0].path] })
    }

    /// Decodes the rows under `cursor`.
    ///
    /// - Parameter next: moves the cursor to the next row, the first one to begin with; false after the last.
    /// - Throws: ``GraphError`` that names the property which a row does not fit, and what `next` throws.
    public func decode(_ cursor: RowCursor, next: () throws -> Bool) throws -> [D] {
        do {
            return try parts.readAll(cursor, next)
        } catch let failure as RowFailure {
            throw locate(failure.error, failure.position)
        }
    }

    /// The error with the place in a row where it happened.
    package func locate(_ error: any Error, _ position: RowPosition) -> any Error {
        var column: Int32 = 0
        var place = ""
        for property in properties where !property.isLazy {
            column += Int32(property.columns.count)
            if column >= position.column, !property.columns.isEmpty {
                let names = property.columnNames
                place = names[min(max(0, Int(position.column - 1 - column) + names.count), names.count - 1)]
                break
            }
        }
        if let mismatch = error as? ColumnMismatch {
            return GraphError(.conversion, mismatch.text, type: name, property: place)
        }
        if var error = error as? GraphError, error.type == nil {
            error.type = name
            error.property = place
            return error
        }
        return error
    }

    /// The names of the columns of a property, or of a part of an embedded one: `\.location.latitude`. Nil if the schema
    /// has no such property.
    public func columnNames(at path: AnyKeyPath) -> [String]? {
        // Key paths are compared part by part; one that is written in one place is one object.
        let id = ObjectIdentifier(path)
        if let known = parts.paths.withLock({ $0[id]?.names }) { return known }
        let names = findColumnNames(at: path)
        parts.paths.withLock { known in
            if known.count >= 1024 { known.removeAll() }
            known[id] = KnownPath(path: path, names: names)
        }
        return names
    }

    private func findColumnNames(at path: AnyKeyPath) -> [String]? {
        if let property = property(at: path) { return property.columnNames }
        for property in properties {
            guard let type = property.type as? any EmbeddedValue.Type else { continue }
            for (part, range) in type.parts(of: property.path) where part == path {
                return Array(property.columnNames[range])
            }
        }
        return nil
    }

    /// The columns of the table that keeps an ordered link: `owner` and `target`, or one a part of a key that has
    /// several.
    public func linkColumns(of link: Property<D>) -> (owner: [String], target: [String]) {
        func names(_ side: String, _ key: [Column]) -> [String] {
            key.count < 2 ? [side] : key.map { "\(side)_\($0.suffix)" }
        }
        return (names("owner", key?.columns ?? []), names("target", link.link?.keyColumns ?? []))
    }

    /// Makes a DTO with each property answered by `answer(index)`, which must have the property's type.
    func make(answering answer: (Int) throws -> Any) throws -> D {
        let answers = Answers()
        for place in properties.indices { answers.put(boxed: try answer(place)) }
        return try withExtendedLifetime(answers) {
            var reader = RowReader<D>(answers)
            return try make(&reader)
        }
    }
}

/// Appends what each of the properties does: a loop that the app's module specialises.
@usableFromInline typealias RowEncoding<D> =
    @Sendable ([@Sendable (D, inout [StoredValue]) -> Void], D, inout [StoredValue]) -> Void

/// What a schema has learned; see ``Schema`` for what each is.
@usableFromInline final class SchemaParts<D>: Sendable {
    @usableFromInline let name: String
    @usableFromInline let properties: [Property<D>]
    @usableFromInline let columns: [Column]
    @usableFromInline let key: Property<D>?
    @usableFromInline let columnNames: [String]
    @usableFromInline let diagnostics: [String]
    @usableFromInline let make: @Sendable (inout RowReader<D>) throws -> D
    let encode: @Sendable (D, inout [StoredValue]) -> Void
    let lists: [Int]
    let hasLazy: Bool
    let objects: (any Sendable)?
    let read: @Sendable (RowCursor, inout RowPosition) throws -> D
    /// Decodes rows for as long as `next` moves the cursor to one. A loop that the app's module specialises.
    let readAll: @Sendable (RowCursor, () throws -> Bool) throws -> [D]
    /// The columns that key paths lead to, by the key path's own identity.
    fileprivate let paths = Locked<[ObjectIdentifier: KnownPath]>([:])

    init(
        _ name: String, _ make: @escaping @Sendable (inout RowReader<D>) throws -> D,
        objects: ((Int) -> any Sendable)?, encodeAll: @escaping RowEncoding<D>,
        read: @escaping @Sendable (RowCursor, inout RowPosition) throws -> D,
        readAll: @escaping @Sendable (RowCursor, () throws -> Bool) throws -> [D]
    ) {
        self.name = name
        self.make = make
        self.read = read
        self.readAll = readAll
        (properties, diagnostics) = Recorder.study(name, make)
        key = properties.first(where: \.isKey)
        self.objects = objects?(properties.firstIndex(where: \.isKey) ?? -1)
        columnNames = properties.flatMap(\.columnNames)
        hasLazy = properties.contains(where: \.isLazy)
        let encoders = properties.filter { !$0.isNested && !$0.isList }.map(\.encode)
        encode = { dto, values in encodeAll(encoders, dto, &values) }
        lists = properties.indices.filter { [properties] in properties[$0].isList }
        columns = properties.flatMap { property in
            zip(property.columnNames, property.columns).map {
                Column($1.storage, suffix: $0, isNullable: $1.isNullable)
            }
        }
    }
}

/// A key path, kept so that no other takes its place in memory, and its columns; nil if it leads to none.
private struct KnownPath {
    let path: AnyKeyPath
    let names: [String]?
}

/// An error while a row was read, and where in the row.
@usableFromInline struct RowFailure: Error {
    let error: any Error
    let position: RowPosition
    @usableFromInline init(error: any Error, position: RowPosition) {
        self.error = error
        self.position = position
    }
}
