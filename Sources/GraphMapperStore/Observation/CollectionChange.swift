/// What an observer of a query gets: the collection as it is now, and how it came from the one before.
///
/// Indices are those of `performBatchUpdates`: deletions and modifications are positions in the collection before,
/// insertions positions in the one that comes with them; each ascending. Deleting, then inserting, then taking over what
/// is modified makes the one before into the new one. A row that has moved is deleted here and inserted there.
public enum CollectionChange<Element: Sendable>: Sendable {
    /// The first result. Comes once, and first.
    case initial(Results<Element>)
    /// The collection, and what is other than in the one before; never nothing.
    case update(Results<Element>, deletions: [Int], insertions: [Int], modifications: [Int])

    /// The collection as it is now.
    public var collection: Results<Element> {
        switch self {
        case .initial(let collection), .update(let collection, _, _, _): collection
        }
    }

    /// Rows that are in another place than before, by ascending `to`. Each is among the deletions and the insertions too:
    /// who animates moves leaves it out there, and shows its new content afterwards.
    public var moves: [CollectionMove] { collection.moves }

    /// The modifications as positions in the new collection. Complexity: O(deletions + insertions + modifications).
    public var modificationsInNew: [Int] {
        guard case .update(_, let deletions, let insertions, let modifications) = self else { return [] }
        var gone = 0
        var come = 0
        return modifications.map { old in
            while gone < deletions.count, deletions[gone] < old { gone += 1 }
            while come < insertions.count, insertions[come] <= old - gone + come { come += 1 }
            return old - gone + come
        }
    }
}

extension CollectionChange: CustomStringConvertible {
    public var description: String {
        switch self {
        case .initial(let collection): "initial \(collection.count)"
        case .update(let collection, let deletions, let insertions, let modifications):
            "\(collection.count): deletions \(deletions), insertions \(insertions), modifications \(modifications)"
        }
    }
}
