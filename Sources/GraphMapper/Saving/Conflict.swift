/// Something that the app and another writer have both changed since the session last read it.
public struct Conflict: Sendable, Hashable {
    /// What clashes.
    public enum Kind: Sendable, Hashable {
        /// Both have given one property another value.
        case value
        /// Both have put the links of one list into another order.
        case list
        /// The app has changed an object whose row the other writer has deleted.
        case deletedByOther
        /// The app deletes an object that the other writer has changed.
        case deletedByMe
        /// The app adds an object whose row is there already. ``Conflict/mine`` and ``Conflict/theirs`` are the values of the
        /// row's columns in the order of the schema, lists aside.
        case exists
    }

    /// What becomes of a conflict.
    public enum Resolution: Sendable, Hashable {
        /// The app's value is written. A row that the other writer deleted is inserted again.
        case mine
        /// The other writer's value stays, and the model takes it. An object that it deleted is deleted here, too; one
        /// that it changed is not deleted.
        case theirs
        /// These stored values are written, and the model takes them: as many as ``Conflict/mine`` has; for a list the
        /// keys of the targets, one after the other.
        case merged([StoredValue])
    }

    /// What clashes.
    public var kind: Kind
    /// The name of the DTO's table.
    public var type: String
    /// The object's id, as text.
    public var id: String
    /// The property's name; empty where it is about the whole object.
    public var property: String
    /// What the session last read.
    public var base: [StoredValue]
    /// What the app has made of it; nothing for an object that it deletes.
    public var mine: [StoredValue]
    /// What is stored now; nothing for an object that the other writer has deleted.
    public var theirs: [StoredValue]

    /// Where it is: the object and the property.
    public var path: String { property.isEmpty ? "\(type)(\(id))" : "\(type)(\(id)).\(property)" }

    /// - Parameters:
    ///   - kind: what clashes.
    ///   - type: the name of the DTO's table.
    ///   - id: the object's id, as text.
    ///   - property: the property's name; empty where it is about the whole object.
    ///   - base: what the session last read.
    ///   - mine: what the app has made of it.
    ///   - theirs: what is stored now.
    public init(
        _ kind: Kind, type: String, id: String, property: String, base: [StoredValue], mine: [StoredValue],
        theirs: [StoredValue]
    ) {
        self.kind = kind
        self.type = type
        self.id = id
        self.property = property
        self.base = base
        self.mine = mine
        self.theirs = theirs
    }
}

extension Conflict: CustomStringConvertible {
    public var description: String {
        func text(_ values: [StoredValue]) -> String { values.map(\.description).joined(separator: ", ") }
        return switch kind {
        case .value:
            "\(path): another writer changed \(text(base)) to \(text(theirs)), this session has \(text(mine))"
        case .list:
            "\(path): another writer and this session have both put its links in another order"
        case .deletedByOther: "\(path): another writer deleted it, this session has changed it"
        case .deletedByMe:
            "\(path): another writer changed \(text(base)) to \(text(theirs)), this session deletes the object"
        case .exists:
            "\(path): it is added, but its row is there already: stored is \(text(theirs)), this session has \(text(mine))"
        }
    }
}

/// What a save does where another writer has changed what it would write.
public struct ConflictPolicy {
    /// Nil to throw.
    let resolve: ((Conflict) throws -> Conflict.Resolution)?

    /// The save throws a ``GraphError`` that lists all conflicts, and writes nothing.
    public static var fail: Self { Self(resolve: nil) }
    /// The app's values win.
    public static var mine: Self { Self { _ in .mine } }
    /// The other writer's values win, and the models take them.
    public static var theirs: Self { Self { _ in .theirs } }
    /// Asks about each conflict, also where both have changed a property to the same value: a counter that both have
    /// raised by one may be meant to rise by two. If the closure throws, nothing is written.
    public static func merge(_ resolve: @escaping (Conflict) throws -> Conflict.Resolution) -> Self {
        Self(resolve: resolve)
    }
}

extension GraphError {
    /// One error for all conflicts of a save; its place is that of the first.
    public init(_ conflicts: [Conflict]) {
        let list = conflicts.map(\.description).joined(separator: "; ")
        let first = conflicts.first
        self.init(
            .conflict,
            "\(list). Settle it by refresh(.merging) or refresh(.discardingChanges), or give save(onConflict:) a policy",
            type: first?.type,
            id: first?.id, property: first.flatMap { $0.property.isEmpty ? nil : $0.property })
        self.conflicts = conflicts
    }
}

extension Conflict {
    /// The conflicts of a change with what it found, by columns: for sinks, which do not know of properties.
    public static func all(of change: ChangeSet.Change, _ found: ChangeSet.Found) -> [Conflict] {
        let place = change.row
        let id = place.key.map(\.description).joined(separator: ", ")
        func clashes(
            _ kind: Kind, _ columns: [String], _ base: [StoredValue], _ mine: [StoredValue], _ theirs: [StoredValue]
        ) -> [Conflict] {
            columns.indices.filter { base[$0] != theirs[$0] }.map { index in
                Conflict(
                    kind, type: place.table, id: id, property: columns[index], base: [base[index]],
                    mine: mine.isEmpty ? [] : [mine[index]], theirs: [theirs[index]])
            }
        }
        switch (change, found) {
        case (.update(let row), .values(let theirs)):
            return clashes(.value, row.columns, row.expected, row.values, theirs)
        case (.delete(let row), .values(let theirs)):
            return clashes(.deletedByMe, row.columns, row.expected, [], theirs)
        case (.relink(let link), .list(let theirs)):
            return [
                Conflict(
                    .list, type: place.table, id: id, property: link.property, base: link.base, mine: link.targets,
                    theirs: theirs)
            ]
        case (.update(let row), _):
            return [
                Conflict(
                    .deletedByOther, type: place.table, id: id, property: "", base: row.expected, mine: row.values,
                    theirs: [])
            ]
        case (.relink(let link), _):
            return [
                Conflict(
                    .deletedByOther, type: place.table, id: id, property: "", base: link.base, mine: link.targets,
                    theirs: [])
            ]
        case (.delete(let row), _):
            return [
                Conflict(
                    .deletedByOther, type: place.table, id: id, property: "", base: row.expected, mine: [], theirs: [])
            ]
        case (.insert, _): return []
        }
    }
}
