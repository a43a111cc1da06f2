/// What a schema's closure reads from: `row("name", \.name)`.
///
/// It stands on a row of an engine, or records what is asked, or answers from a mapping on the way back.
///
/// What it reads from is kept by whoever has made it, for as long as a schema's closure runs: a row costs no counting of
/// references.
public struct RowReader<D> {
    @usableFromInline let cursor: RowCursor?
    @usableFromInline unowned(unsafe) let answers: Answers?
    @usableFromInline unowned(unsafe) let recorder: Recorder?
    /// The number of the probe that every property is.
    @usableFromInline let probe: Int?
    @usableFromInline package var position: RowPosition

    @inlinable @inline(__always)
    init(
        cursor: RowCursor? = nil, answers: Answers? = nil, recorder: Recorder? = nil, probe: Int? = nil,
        position: RowPosition = RowPosition()
    ) {
        self.cursor = cursor
        self.answers = answers
        self.recorder = recorder
        self.probe = probe
        self.position = position
    }

    /// Stands on a row.
    @inlinable @inline(__always) package init(_ cursor: RowCursor, at position: RowPosition = RowPosition()) {
        self.init(cursor: cursor, position: position)
    }

    /// Takes what the steps of a mapping have put there.
    @inlinable @inline(__always) init(_ answers: Answers) { self.init(answers: answers) }

    /// The value of the property at `path`, kept under `name`.
    @inlinable @inline(__always)
    public mutating func callAsFunction<V: Storable>(
        _ name: StaticString, _ path: @autoclosure () -> any KeyPath<D, V> & Sendable
    ) throws -> V {
        if let cursor { return try V.read(cursor, at: &position) }
        if let answers { return try answers.take(name) }
        return try elsewhere(name, path())
    }

    @usableFromInline @inline(never)
    mutating func elsewhere<V: Storable>(_ name: StaticString, _ path: any KeyPath<D, V> & Sendable) throws -> V {
        if let recorder { return try recorder.record(name, path) }
        guard let probe else { throw GraphError(.misuse, "a row reader was used outside its schema") }
        return try V.probe(probe)
    }
}

/// Learns a schema by running its closure with probes.
@usableFromInline final class Recorder {
    private var found: [Any] = []
    private var checks: [(Any) -> Bool] = []
    private var names: [String] = []
    /// Those of embedded values' own schemas.
    private var diagnostics: [String] = []
    /// What sets each property of an object from stored values; none for structs.
    private var assignments: [Any] = []
    /// Whether the value that a property was given is the DTO's id.
    private var isKey: [(any Hashable) -> Bool] = []
    private var pass = 0

    /// `probe(n >> pass)` tells apart, over the passes, also properties of types with two values.
    func record<D, V: Storable>(_ name: StaticString, _ path: any KeyPath<D, V> & Sendable) throws -> V {
        let name = "\(name)"
        let value = try V.probe((checks.count + 1) >> pass)
        let offset = MemoryLayout<D>.offset(of: path)
        // A struct's stored property is read at its offset, five times faster than through the key path.
        let get: @Sendable (D) -> V = { dto in
            guard let offset else { return dto[keyPath: path] }
            return withUnsafeBytes(of: dto) { $0.load(fromByteOffset: offset, as: V.self) }
        }
        names.append(name)
        diagnostics += V.schemaMistakes
        found.append(
            Property<D>(
                name: name, path: path, columns: V.columns, link: V.link,
                encode: { dto, values in get(dto).encode(into: &values) },
                isSame: { V.isSame(get($0), get($1)) }, isUnset: isUnset(get),
                put: { dto, answers in answers.put(get(dto.pointee)) }, type: V.self))
        isKey.append { id in (value as? any Hashable).map { AnyHashable($0) == AnyHashable(id) } ?? false }
        checks.append { dto in (dto as? D).map { V.isSame($0[keyPath: path], value) } ?? false }
        return value
    }

    private func isUnset<D, V>(_ get: @escaping @Sendable (D) -> V) -> @Sendable (D) -> Bool {
        guard V.self is any Unsettable.Type else { return { _ in false } }
        return { (get($0) as? any Unsettable)?.isUnset ?? false }
    }

    func recordNested<D, V>(_ name: StaticString, _ path: any KeyPath<D, V> & Sendable, _ value: V) -> V {
        names.append("\(name)")
        // Nested objects are compared by their own table, where they are offered too.
        found.append(
            Property<D>(
                name: "\(name)", path: path, columns: [], link: nil, encode: { _, _ in }, isSame: { _, _ in true },
                isUnset: isUnset { $0[keyPath: path] },
                put: { dto, answers in answers.put(dto.pointee[keyPath: path]) },
                nested: { nestedDTOs($0[keyPath: path]) }, type: V.self))
        isKey.append { _ in false }
        checks.append { _ in true }
        return value
    }

    /// A link of a class to another.
    func recordLink<D, C: ObjectDTO>(
        _ name: StaticString, _ path: any PartialKeyPath<D> & Sendable, _: C.Type, isList: Bool,
        targets: @escaping @Sendable (D) -> [C]
    ) where C.ID: Storable & Hashable {
        names.append("\(name)")
        found.append(
            Property<D>(
                name: "\(name)", path: path, columns: isList ? [] : C.ID?.columns, link: Ref<C>.target(isList: isList),
                encode: { object, values in
                    let targets = targets(object)
                    if !isList, targets.isEmpty { C.ID?.none.encode(into: &values) }
                    for target in targets { target.id.encode(into: &values) }
                },
                isSame: { left, right in
                    targets(left).elementsEqual(targets(right)) { C.ID.isSame($0.id, $1.id) }
                },
                isUnset: { _ in false },
                put: { dto, answers in answers.put(boxed: dto.pointee[keyPath: path] as Any) }, nested: targets,
                type: C.self))
        isKey.append { _ in false }
        checks.append { _ in true }
    }

    /// Notes what sets the property that was recorded last.
    func note<D>(_ assign: @escaping @Sendable (D, [StoredValue], any ObjectDatabase) throws -> Void) {
        assignments.append(assign)
    }

    func note(diagnostic: String) { diagnostics.append(diagnostic) }

    static func study<D>(
        _ schema: String, _ make: (inout RowReader<D>) throws -> D
    ) -> ([Property<D>], [String]) {
        var properties: [Property<D>] = []
        var diagnostics: [String] = []
        for pass in 0..<8 {
            let recorder = Recorder()
            recorder.pass = pass
            do {
                let dto = try withExtendedLifetime(recorder) {
                    var reader = RowReader<D>(recorder: recorder)
                    return try make(&reader)
                }
                for (name, check) in zip(recorder.names, recorder.checks) where !check(dto) {
                    let text = "\(schema).\(name): its key path is not the property that the value goes to (swapped?)"
                    if !diagnostics.contains(text) { diagnostics.append(text) }
                }
                if pass == 0 {
                    diagnostics += recorder.diagnostics.filter { !diagnostics.contains($0) }
                    diagnostics += unread(schema, dto, recorder.found.count)
                    properties = recorder.found.compactMap { $0 as? Property<D> }
                    for (index, assign) in zip(properties.indices, recorder.assignments) {
                        properties[index].assign = assign as? Property<D>.Assignment
                    }
                    if let id = identity(of: dto), let key = recorder.isKey.firstIndex(where: { $0(id) }) {
                        properties[key].isKey = true
                    }
                }
            } catch {
                diagnostics.append("\(schema): the initializer does not accept arbitrary values: \(error)")
            }
        }
        let names = properties.filter { !$0.isNested }.flatMap { $0.isList ? [$0.name] : $0.columnNames }
        for (name, group) in Dictionary(grouping: names, by: { $0 }) where group.count > 1 {
            diagnostics.append("\(schema).\(name): the name stands \(group.count) times")
        }
        return (properties, diagnostics)
    }

    private static func identity(of dto: Any) -> (any Hashable)? {
        func id(_ dto: some Identifiable) -> any Hashable { dto.id }
        return (dto as? any Identifiable).map { id($0) }
    }

    /// The one look of reflection: a property with a default value that the schema's closure does not set.
    private static func unread<D>(_ schema: String, _ dto: D, _ count: Int) -> [String] {
        let mirror = Mirror(reflecting: dto)
        guard mirror.displayStyle == .struct, mirror.children.count > count else { return [] }
        let labels = mirror.children.compactMap(\.label).joined(separator: ", ")
        return ["\(schema): \(mirror.children.count) stored properties (\(labels)), but \(count) are read"]
    }
}

private func nestedDTOs(_ value: Any) -> [any DTO] {
    if let list = value as? [any DTO] { return list }
    if let value = value as? any Unsettable { return value.anyValue.map(nestedDTOs) ?? [] }
    return (value as? any DTO).map { [$0] } ?? []
}

/// What a property of nested DTOs can be: an optional DTO or an array of them.
public protocol NestedDTOs {
    /// What the property is while only the schema is learned.
    static var empty: Self { get }
}

extension Optional: NestedDTOs where Wrapped: DTO {
    public static var empty: Wrapped? { nil }
}

extension Array: NestedDTOs where Element: DTO {
    public static var empty: [Element] { [] }
}

extension RowReader {
    /// Nested DTOs: neither columns nor links of a table, so that no engine reads them.
    public mutating func nested<V: NestedDTOs>(
        _ name: StaticString, _ path: @autoclosure () -> any KeyPath<D, V> & Sendable
    ) throws -> V {
        try nested(name, path(), V.empty)
    }

    /// A nested DTO that a payload may leave out.
    public mutating func nested<V: DTO>(
        _ name: StaticString, _ path: @autoclosure () -> any KeyPath<D, Tristate<V>> & Sendable
    ) throws -> Tristate<V> {
        try nested(name, path(), .unset)
    }

    /// Nested DTOs that a payload may leave out.
    public mutating func nested<V: DTO>(
        _ name: StaticString, _ path: @autoclosure () -> any KeyPath<D, Tristate<[V]>> & Sendable
    ) throws -> Tristate<[V]> {
        try nested(name, path(), .unset)
    }

    /// A nested DTO that is always there.
    public mutating func nested<V: DTO>(
        _ name: StaticString, _ path: @autoclosure () -> any KeyPath<D, V> & Sendable
    ) throws -> V where V.Row == V {
        if let answers { return try answers.take(name) }
        var probe = RowReader<V>(probe: 1)
        return try nested(name, path(), V.schema.make(&probe))
    }

    private mutating func nested<V>(
        _ name: StaticString, _ path: any KeyPath<D, V> & Sendable, _ probe: V
    ) throws -> V {
        if let answers { return try answers.take(name) }
        return recorder?.recordNested(name, path, probe) ?? probe
    }
}
