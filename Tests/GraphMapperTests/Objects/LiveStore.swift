import Dispatch
import Foundation
import GraphMapper

/// A stand-in for a third-party object database, with that kind's habits: objects are live and lazy, each read of a link
/// makes a new accessor, everything belongs to one thread or to the main queue, and only a write transaction may set anything.
///
/// It notes what an app must not do instead of trapping, so that tests can ask.
final class LiveStore {
    /// A stored object: links are keys, or arrays of keys.
    typealias Row = [String: Any]

    private var tables: [String: [AnyHashable: Row]] = [:]
    private let confinement = Confinement()
    private var isWriting = false

    /// What was done that must not be.
    private(set) var violations: [String] = []
    /// How often each property of each stored object was read: `user(1).name`.
    private(set) var reads: [String: Int] = [:]
    /// What was set, in order: `user(1).name`.
    private(set) var sets: [String] = []
    private(set) var accessors = 0
    private(set) var lookUps = 0
    /// Accessors that are alive.
    fileprivate(set) var living = 0
    /// Makes the write transaction fail after so many sets.
    var setsUntilFailure = Int.max

    struct Failure: Error, Equatable { let text: String }

    func forgetCounts() {
        reads = [:]
        sets = []
        accessors = 0
        lookUps = 0
    }

    // MARK: What an app calls

    func object<T: LiveObject>(ofType type: T.Type, forPrimaryKey key: AnyHashable) -> T? {
        touch("\(type.table)(\(key))")
        lookUps += 1
        return accessor(type, key)
    }

    func objects<T: LiveObject>(_ type: T.Type, where name: String, isIn keys: [AnyHashable]) -> [T] {
        touch(type.table)
        let rows = (tables[type.table] ?? [:]).filter { ($0.value[name] as? AnyHashable).map(keys.contains) ?? false }
        return rows.keys.sorted { "\($0)" < "\($1)" }.compactMap { accessor(type, $0) }
    }

    func write(_ body: () throws -> Void) throws {
        touch("write")
        guard !isWriting else { throw Failure(text: "a write transaction is under way") }
        let before = tables
        isWriting = true
        defer { isWriting = false }
        do {
            try body()
            if sets.count > setsUntilFailure { throw Failure(text: "the disk is full") }
        } catch {
            tables = before
            throw error
        }
    }

    /// Makes the object, and those that it links to, stored ones. One of the same key is updated.
    func add(_ object: LiveObject) {
        var waiting = [object]
        while let object = waiting.popLast() {
            let table = type(of: object).table
            guard object.store == nil, canSet(table), let key = object.local["id"] as? AnyHashable else { continue }
            var row = tables[table]?[key] ?? [:]
            object.store = self
            object.key = key
            living += 1
            for (name, value) in object.local {
                if let target = value as? LiveObject {
                    row[name] = target.local["id"] ?? target.key
                    waiting.append(target)
                } else if let targets = value as? [LiveObject] {
                    row[name] = targets.compactMap { ($0.local["id"] as? AnyHashable) ?? $0.key }
                    waiting += targets
                } else {
                    row[name] = value
                }
            }
            object.local = [:]
            tables[table, default: [:]][key] = row
        }
    }

    /// Deletes the object; links to it become nil, lists lose it.
    func delete(_ object: LiveObject) {
        guard canSet("delete"), let key = object.key else { return }
        let table = type(of: object).table
        tables[table]?[key] = nil
        for (name, rows) in tables {
            for (owner, row) in rows {
                for (property, target) in type(of: object).backlinks where property == name {
                    if row[target] as? AnyHashable == key { tables[name]?[owner]?[target] = nil }
                    if let keys = row[target] as? [AnyHashable], keys.contains(key) {
                        tables[name]?[owner]?[target] = keys.filter { $0 != key }
                    }
                }
            }
        }
    }

    func count(_ table: String) -> Int { tables[table]?.count ?? 0 }
    func stored(_ table: String, _ key: AnyHashable) -> Row? { tables[table]?[key] }

    // MARK: What accessors call

    fileprivate func accessor<T: LiveObject>(_ type: T.Type, _ key: AnyHashable) -> T? {
        guard tables[type.table]?[key] != nil else { return nil }
        let object = type.init()
        object.store = self
        object.key = key
        accessors += 1
        living += 1
        return object
    }

    fileprivate func read(_ object: LiveObject, _ name: String) -> Any? {
        guard let key = object.key else { return nil }
        let place = "\(type(of: object).table)(\(key)).\(name)"
        touch(place)
        reads[place, default: 0] += 1
        return tables[type(of: object).table]?[key]?[name]
    }

    /// The keys of a list, whose elements are read one by one.
    fileprivate func keys(_ list: (table: String, key: AnyHashable, name: String)) -> [AnyHashable] {
        touch(list.name)
        return tables[list.table]?[list.key]?[list.name] as? [AnyHashable] ?? []
    }

    fileprivate func set(_ table: String, _ key: AnyHashable, _ name: String, _ value: Any?) {
        let place = "\(table)(\(key)).\(name)"
        guard canSet(place) else { return }
        sets.append(place)
        tables[table]?[key]?[name] = value
    }

    private func canSet(_ place: String) -> Bool {
        touch(place)
        if !isWriting { violations.append("\(place) was set outside a write transaction") }
        return isWriting
    }

    private func touch(_ place: String) {
        if !confinement.isKept { violations.append("\(place) was touched on another thread") }
    }
}

/// Where a database and its objects may be touched: on the main queue if they were made there, which on Linux is not
/// always the same thread, else on the thread that made them.
private struct Confinement {
    private static let mainQueue = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()
    private static var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainQueue) ?? false }

    private let thread = isOnMainQueue ? nil : Thread.current

    var isKept: Bool { thread.map { $0 === Thread.current } ?? Self.isOnMainQueue }
}

/// The base class of the database's objects. Not final, and made by a blank initializer.
class LiveObject {
    fileprivate(set) var store: LiveStore?
    fileprivate(set) var key: AnyHashable?
    /// The values of an object that is not stored.
    fileprivate var local: [String: Any] = [:]

    required init() {}
    deinit { if key != nil { store?.living -= 1 } }

    class var table: String { "" }
    /// The links that lead to objects of this class: table and property.
    class var backlinks: [(String, String)] { [] }

    final func value<V>(_ name: String, _ blank: V) -> V {
        (store == nil ? local[name] : store?.read(self, name)) as? V ?? blank
    }

    final func set<V>(_ name: String, _ value: V) {
        guard let store, let key else {
            local[name] = value
            return
        }
        store.set(type(of: self).table, key, name, value)
    }

    final func link<T: LiveObject>(_ name: String) -> T? {
        guard let store else { return local[name] as? T }
        return (store.read(self, name) as? AnyHashable).flatMap { store.accessor(T.self, $0) }
    }

    final func setLink<T: LiveObject>(_ name: String, _ target: T?) {
        guard let store, let key else {
            local[name] = target
            return
        }
        store.set(type(of: self).table, key, name, target.flatMap { $0.key })
    }

    final func list<T: LiveObject>(_ name: String) -> LiveList<T> {
        if let store { _ = store.read(self, name) }
        return LiveList(owner: self, name: name)
    }
}

/// A list of the database's: an object, not an array, whose elements are made as they are read.
final class LiveList<Element: LiveObject>: RandomAccessCollection, RangeReplaceableCollection {
    private let owner: LiveObject?
    private let name: String
    private var objects: [Element] = []

    init(owner: LiveObject, name: String) {
        self.owner = owner
        self.name = name
    }

    init() {
        owner = nil
        name = ""
    }

    private var place: (table: String, key: AnyHashable, name: String)? {
        guard let owner, let key = owner.key else { return nil }
        return (type(of: owner).table, key, name)
    }

    private var local: [Element] { owner.map { $0.local[name] as? [Element] ?? [] } ?? objects }

    var startIndex: Int { 0 }
    var endIndex: Int {
        guard let place, let store = owner?.store else { return local.count }
        return store.keys(place).count
    }

    subscript(index: Int) -> Element {
        guard let place, let store = owner?.store else { return local[index] }
        return store.accessor(Element.self, store.keys(place)[index]) ?? Element()
    }

    func append(_ element: Element) { replaceSubrange(endIndex..<endIndex, with: [element]) }
    func append(contentsOf elements: some Sequence<Element>) {
        replaceSubrange(endIndex..<endIndex, with: Array(elements))
    }

    func replaceSubrange<C: Collection>(_ range: Range<Int>, with elements: C) where C.Element == Element {
        guard let place, let store = owner?.store else {
            var new = local
            new.replaceSubrange(range, with: elements)
            if let owner { owner.local[name] = new } else { objects = new }
            return
        }
        var keys = store.keys(place)
        keys.replaceSubrange(range, with: elements.compactMap(\.key))
        store.set(place.table, place.key, place.name, keys)
    }
}

/// The twenty lines that wire it.
struct LiveDatabase: ObjectDatabase {
    let store: LiveStore

    func object<D: DTO & Identifiable>(_ type: D.Type, id: D.ID) throws -> D? where D.ID: Storable & Hashable {
        guard let type = type as? LiveObject.Type else { return nil }
        return store.object(ofType: type, forPrimaryKey: id) as? D
    }

    func objects<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) throws -> [D] {
        guard let type = type as? LiveObject.Type else { return [] }
        return store.objects(type, where: name, isIn: owners).compactMap { $0 as? D }
    }

    func write(_ body: () throws -> Void) throws { try store.write(body) }
    func insert(_ object: AnyObject) throws { if let object = object as? LiveObject { store.add(object) } }
    func delete(_ object: AnyObject) throws { if let object = object as? LiveObject { store.delete(object) } }
}
