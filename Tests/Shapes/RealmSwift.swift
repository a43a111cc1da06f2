// Declarations of the same shape as RealmSwift's: what `docs/other-stores.md` compiles against. They do nothing.

open class ObjectBase {
    public required init() {}
    public var realm: Realm? { nil }
}

open class Object: ObjectBase {}

public protocol RealmCollectionValue {}
extension ObjectBase: RealmCollectionValue {}

@propertyWrapper public struct Persisted<Value> {
    private var value: Value?
    public var wrappedValue: Value {
        get { value ?? { preconditionFailure("a shape has no value") }() }
        set { value = newValue }
    }
    public init() {}
    public init(wrappedValue: Value) { value = wrappedValue }
    public init(wrappedValue: Value, primaryKey: Bool) { value = wrappedValue }
}

public final class List<Element: RealmCollectionValue>: RandomAccessCollection, RangeReplaceableCollection {
    private var elements: [Element] = []
    public init() {}
    public var startIndex: Int { 0 }
    public var endIndex: Int { elements.count }
    public subscript(index: Int) -> Element { elements[index] }
    public func replaceSubrange<C: Collection>(_ range: Range<Int>, with new: C) where C.Element == Element {
        elements.replaceSubrange(range, with: new)
    }
}

public struct Results<Element: RealmCollectionValue>: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }
    public subscript(index: Int) -> Element { preconditionFailure("a shape has no elements") }
    public func filter(_ format: String, _ arguments: Any...) -> Results<Element> { self }
}

public struct Realm {
    public enum UpdatePolicy { case error, modified, all }
    public init() throws {}
    public func object<Element: Object, Key>(ofType type: Element.Type, forPrimaryKey key: Key) -> Element? { nil }
    public func objects<Element: Object>(_ type: Element.Type) -> Results<Element> { Results() }
    public func write<Result>(withoutNotifying tokens: [Int] = [], _ block: () throws -> Result) throws -> Result {
        try block()
    }
    public func add(_ object: Object, update: UpdatePolicy = .error) {}
    public func delete(_ object: ObjectBase) {}
}
