import Foundation

/// The files that stores of this process have open, and how many have each.
enum OpenFiles {
    private static let counts = Locked<[String: Int]>([:])

    private static func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

    /// How many stores have the file open.
    static func count(_ path: String) -> Int { counts.withLock { $0[resolved(path)] ?? 0 } }

    /// One store's use of a file, from when it is made until it ends.
    final class Use: Sendable {
        private let path: Locked<String?>

        init(_ path: String) {
            let path = OpenFiles.resolved(path)
            self.path = Locked(path)
            OpenFiles.counts.withLock { $0[path, default: 0] += 1 }
        }

        deinit { end() }

        func end() {
            let ended = path.withLock { path in
                defer { path = nil }
                return path
            }
            guard let ended else { return }
            OpenFiles.counts.withLock { counts in
                let left = (counts[ended] ?? 1) - 1
                counts[ended] = left > 0 ? left : nil
            }
        }
    }
}
