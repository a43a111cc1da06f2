/// A row in its old place.
struct Replacement<R: Sendable> {
    let position: Int
    let record: R
    /// Whether what differs counts.
    let isWatched: Bool
}

/// A row that is put in.
struct Arrival<R: Sendable> {
    let record: R
    let sortKey: SortKey
    /// Where it was.
    let from: Int?
    /// Whether what differs counts.
    let isWatched: Bool
    /// The position of the old row that it stands before.
    let at: Int
}

extension Results.Chunk {
    /// The same sortKeys with other records.
    fileprivate func with(_ replaced: ArraySlice<Replacement<Element>>, _ start: Int) -> Results<Element>.Chunk {
        var records = elements
        for one in replaced { records[one.position - start] = one.record }
        return Results<Element>.Chunk(records, sortKeys)
    }
}

/// How the chunks of ``Results`` are made and edited.
enum Chunks<R: Sendable> {
    typealias Chunk = Results<R>.Chunk

    /// A chunk has at most so many rows.
    static var most: Int { 512 }

    /// Chunks of half the size.
    static func cut(_ records: [R], _ sortKeys: [SortKey]) -> [Chunk] {
        stride(from: 0, to: records.count, by: most / 2).map { start in
            let range = start..<min(start + most / 2, records.count)
            return Chunk(Array(records[range]), Array(sortKeys[range]))
        }
    }

    /// The position of the first row that is not before a sort key. Complexity: O(log count).
    static func position(of sortKey: SortKey, in results: Results<R>, _ ordering: SortKeyOrder) -> Int {
        let chunks = results.chunks
        let chunk = BinarySearch.first(in: chunks.indices) { !ordering.isBefore(chunks[$0].last, sortKey) }
        guard chunk < chunks.count else { return results.count }
        return results.start(of: chunk) + ordering.first(notBefore: sortKey, in: results.chunks[chunk].sortKeys)
    }

    /// The chunks with some rows taken out, put in, or replaced. Chunks without any are shared.
    ///
    /// - Parameters:
    ///   - out: positions of rows that go, ascending.
    ///   - replaced: rows with what takes their place, by ascending position.
    ///   - arrivals: rows that come, in their order, each with the position of the old row that it stands before.
    static func edited(
        _ results: Results<R>, out: [Int], replaced: [Replacement<R>], arrivals: [Arrival<R>]
    ) -> [Chunk] {
        guard !results.isEmpty else { return cut(arrivals.map(\.record), arrivals.map(\.sortKey)) }
        var chunks: [Chunk] = []
        chunks.reserveCapacity(results.chunks.count + 2)
        var nextOut = 0
        var nextReplaced = 0
        var nextArrival = 0
        for (number, chunk) in results.chunks.enumerated() {
            let start = results.start(of: number)
            let end = start + chunk.elements.count
            let isLast = number == results.chunks.count - 1
            func isHere(_ position: Int) -> Bool { position < end || isLast }
            let isMoved =
                nextOut < out.count && isHere(out[nextOut])
                || nextArrival < arrivals.count && isHere(arrivals[nextArrival].at)
            guard isMoved else {
                let first = nextReplaced
                while nextReplaced < replaced.count, replaced[nextReplaced].position < end { nextReplaced += 1 }
                chunks.append(first == nextReplaced ? chunk : chunk.with(replaced[first..<nextReplaced], start))
                continue
            }
            var records: [R] = []
            var sortKeys: [SortKey] = []
            records.reserveCapacity(chunk.elements.count + 1)
            sortKeys.reserveCapacity(chunk.elements.count + 1)
            for position in start...end {
                while nextArrival < arrivals.count, arrivals[nextArrival].at == position, position < end || isLast {
                    records.append(arrivals[nextArrival].record)
                    sortKeys.append(arrivals[nextArrival].sortKey)
                    nextArrival += 1
                }
                guard position < end else { break }
                if nextOut < out.count, out[nextOut] == position {
                    nextOut += 1
                    continue
                }
                var record = chunk.elements[position - start]
                if nextReplaced < replaced.count, replaced[nextReplaced].position == position {
                    record = replaced[nextReplaced].record
                    nextReplaced += 1
                }
                records.append(record)
                sortKeys.append(chunk.sortKeys[position - start])
            }
            append(records, sortKeys, to: &chunks)
        }
        return chunks
    }

    /// Adds rows behind the others, in chunks that are neither too large nor many small ones.
    private static func append(_ records: [R], _ sortKeys: [SortKey], to chunks: inout [Chunk]) {
        if let last = chunks.last, last.elements.count + records.count <= most / 4 {
            chunks[chunks.count - 1] = Chunk(last.elements + records, last.sortKeys + sortKeys)
        } else if records.count <= most {
            if !records.isEmpty { chunks.append(Chunk(records, sortKeys)) }
        } else {
            chunks += cut(records, sortKeys)
        }
    }
}
