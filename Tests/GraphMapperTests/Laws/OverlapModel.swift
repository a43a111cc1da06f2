@testable import GraphMapper

/// A property of an object of the theatre.
struct OverlapCell: Hashable, Comparable, CustomStringConvertible {
    enum Kind: Int, CaseIterable { case stageName, stageNote, props, spares, lead, propName, dancerName, dancerStage }
    let kind: Kind
    let id: Int

    init(_ kind: Kind, _ id: Int) { (self.kind, self.id) = (kind, id) }

    var description: String { "\(kind) of \(id)" }
    static func < (left: Self, right: Self) -> Bool { (left.kind.rawValue, left.id) < (right.kind.rawValue, right.id) }

    static let ofStage: [Kind] = [.stageName, .stageNote, .props, .spares, .lead]
    static let ofDancer: [Kind] = [.dancerName, .dancerStage]
    /// Links that a load of their object may leave out.
    static let links: Set<Kind> = [.props, .spares, .lead]
}

/// What a property holds.
enum OverlapValue: Hashable, CustomStringConvertible {
    case text(String)
    case list([Int])
    case set(Set<Int>)
    case reference(Int?)

    var description: String {
        switch self {
        case .text(let text): "'\(text)'"
        case .list(let ids): "\(ids)"
        case .set(let ids): "{\(ids.sorted().map(String.init).joined(separator: ", "))}"
        case .reference(let id): id.map { "→\($0)" } ?? "→nil"
        }
    }
}

/// Who wins where both have changed a value.
enum OverlapPolicy: Int { case fail, mine, theirs }

/// What is stored, as whoever writes the app understands it: a value for each property.
struct NaiveStore {
    var cells: [OverlapCell: OverlapValue] = [:]

    /// What a save is to write of a property, and what it was changed from; nil for a new object's.
    typealias Plan = [OverlapCell: (base: OverlapValue?, mine: OverlapValue)]

    /// What is stored once a plan is written, and what the plan's properties are then; nil for a conflict.
    func applying(_ plan: Plan, _ policy: OverlapPolicy) -> (store: NaiveStore, final: [OverlapCell: OverlapValue])? {
        var (new, final) = (self, [OverlapCell: OverlapValue]())
        for (cell, change) in plan {
            guard let value = merged(cell, change.base, change.mine, policy) else { return nil }
            new.cells[cell] = value
            final[cell] = value
        }
        return (new, final)
    }

    private func merged(
        _ cell: OverlapCell, _ base: OverlapValue?, _ mine: OverlapValue, _ policy: OverlapPolicy
    ) -> OverlapValue? {
        guard let base, let theirs = cells[cell], theirs != base, theirs != mine else { return mine }
        switch (base, mine, theirs) {
        case (.set(let base), .set(let mine), .set(let theirs)):
            // What either has put in, without what either has taken out.
            return .set(mine.union(theirs.subtracting(base)).subtracting(base.subtracting(theirs)))
        case (.list(let base), .list(let mine), .list(let theirs)):
            func keys(_ ids: [Int]) -> [[StoredValue]] { ids.map { [.integer(Int64($0))] } }
            func ids(_ keys: [[StoredValue]]) -> OverlapValue {
                .list(keys.compactMap { if case .integer(let id) = $0[0] { Int(id) } else { nil } })
            }
            // Lists have a law of their own.
            let merge = ListMerge(base: keys(base), mine: keys(mine), theirs: keys(theirs))
            if merge.isClash, policy == .fail { return nil }
            guard merge.isClash, policy == .theirs else { return ids(merge.merged) }
            return ids(ListMerge(base: keys(base), mine: keys(theirs), theirs: keys(mine)).merged)
        default:
            return policy == .fail ? nil : policy == .mine ? mine : theirs
        }
    }
}

/// What a session's models hold, and what the app has changed in them.
struct NaiveSession {
    struct State: Hashable {
        /// What was last read or written; nil for a new object's property.
        var seen: OverlapValue?
        /// What the app's edit was made on, if another writer's value was read since.
        var base: OverlapValue?
        var mine: OverlapValue
        /// Whether it is a link that was not loaded, so that nothing is known of it.
        var isUnknown = false

        var origin: OverlapValue? { base ?? seen }
        var isEdited: Bool { !isUnknown && mine != origin }
    }

    var cells: [OverlapCell: State] = [:]

    func value(_ kind: OverlapCell.Kind, _ id: Int) -> OverlapValue? { cells[OverlapCell(kind, id)]?.mine }
    var hasEdits: Bool { cells.values.contains(where: \.isEdited) }

    mutating func edit(_ cell: OverlapCell, _ value: OverlapValue) { cells[cell]?.mine = value }

    /// Notes what a load has read of a property: theirs comes in where the app has not edited.
    mutating func read(_ cell: OverlapCell, _ theirs: OverlapValue) {
        guard var state = cells[cell] else {
            cells[cell] = State(seen: theirs, mine: theirs)
            return
        }
        if state.isEdited, state.mine != theirs {
            if theirs != state.seen { state.base = state.origin }
            state.seen = theirs
        } else {
            state = State(seen: theirs, mine: theirs)
        }
        cells[cell] = state
    }

    /// What a save would write.
    var plan: NaiveStore.Plan { cells.filter(\.value.isEdited).mapValues { ($0.origin, $0.mine) } }

    /// Notes what a save has written. What the app has changed since it was planned is an edit of that.
    mutating func commit(_ plan: NaiveStore.Plan, _ final: [OverlapCell: OverlapValue]) {
        for (cell, change) in plan {
            guard let value = final[cell], let now = cells[cell]?.mine else { continue }
            // It was made on what the models had then, whatever has become of that.
            cells[cell] =
                now == change.mine
                ? State(seen: value, mine: value)
                : State(seen: value, base: value == change.mine ? nil : change.mine, mine: now)
        }
    }

    mutating func forget(_ kinds: [OverlapCell.Kind], _ id: Int) {
        for kind in kinds { cells[OverlapCell(kind, id)] = nil }
    }
}
