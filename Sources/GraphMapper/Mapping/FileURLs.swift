import Foundation

extension Conversion where Value == String, Target == URL {
    /// A file's URL as its path from a base folder, which may move when an app is updated: `pictures/a b.png`.
    ///
    /// - Parameter base: the folder as it is now.
    /// - Returns: a conversion that throws a ``GraphError`` for a URL that is no file's, or of a file outside of the base, and
    ///   for a stored path that leads out of it.
    public static func file(in base: URL) -> Self {
        let folder = base.standardizedFileURL.path
        return Conversion {
            let url = URL(fileURLWithPath: folder, isDirectory: true).appendingPathComponent($0).standardizedFileURL
            guard !$0.isEmpty, !$0.hasPrefix("/"), path(of: url, from: folder) != nil else {
                throw GraphError(.conversion, "\"\($0)\" is no path to a file in \(folder)")
            }
            return url
        } encode: {
            guard let path = path(of: $0, from: folder) else {
                throw GraphError(.conversion, "\($0) is no file in \(folder); keep it there, or store the whole URL")
            }
            return path
        }
    }

    private static func path(of url: URL, from folder: String) -> String? {
        let path = url.standardizedFileURL.path
        let start = folder.hasSuffix("/") ? folder : folder + "/"
        guard url.isFileURL, path.hasPrefix(start), path.utf8.count > start.utf8.count else { return nil }
        return String(path.dropFirst(start.count))
    }
}

extension Conversion where Value == String?, Target == URL? {
    /// A file's URL as its path from a base folder; nil stays nil.
    public static func file(in base: URL) -> Self { Conversion<String, URL>.file(in: base).optional }
}
