import Foundation

/// A package of a Debian system, or a virtual one that packages provide.
public final class Package {
    public let id: String
    public var version = ""
    public var summary = ""
    public var dependencies: [Dependency] = []
    public var providers: [Package] = []
    public init(id: String) { self.id = id }
}

/// One clause of a package's `Depends`: any of the alternatives will do.
public final class Dependency {
    public let id: String
    public var clause = ""
    public var alternatives: [Package] = []
    public init(id: String) { self.id = id }
}

/// Reads packages as Debian lists them, in paragraphs of fields (https://www.debian.org/doc/debian-policy/ch-controlfields.html).
///
/// - Parameter onlyInstalled: whether to leave out those whose status is another.
/// - Returns: the packages, and the virtual ones that they name, by their names.
public func packages(in text: String, onlyInstalled: Bool = false) -> [Package] {
    var known: [String: Package] = [:]
    func package(_ name: some StringProtocol) -> Package {
        let name = String(name.prefix { !" (:".contains($0) })
        if let package = known[name] { return package }
        let new = Package(id: name)
        known[name] = new
        return new
    }
    var fields: [Substring: Substring] = [:]
    func endParagraph() {
        defer { fields = [:] }
        guard let name = fields["Package"], !onlyInstalled || fields["Status"]?.hasSuffix(" installed") == true else {
            return
        }
        let model = package(name)
        // Another version of a package that was read before.
        guard model.version.isEmpty else { return }
        model.version = String(fields["Version"] ?? "")
        model.summary = String(fields["Description"] ?? "")
        for (index, clause) in (fields["Depends"] ?? "").split(separator: ",").enumerated() {
            let dependency = Dependency(id: "\(name)#\(index)")
            dependency.clause = clause.trimmingCharacters(in: .whitespaces)
            dependency.alternatives = dependency.clause.split(separator: "|").map {
                package($0.trimmingCharacters(in: .whitespaces))
            }
            model.dependencies.append(dependency)
        }
        for provided in (fields["Provides"] ?? "").split(separator: ",") {
            package(provided.trimmingCharacters(in: .whitespaces)).providers.append(model)
        }
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.isEmpty {
            endParagraph()
        } else if line.first != " ", let colon = line.firstIndex(of: ":") {
            fields[line[..<colon]] = line[line.index(after: colon)...].drop { $0 == " " }
        }
    }
    endParagraph()
    return known.values.sorted { $0.id < $1.id }
}

/// Takes the links from packages. Models that link to each other in cycles are the app's to let go of.
public func release(_ packages: [Package]) {
    for package in packages {
        for dependency in package.dependencies { dependency.alternatives = [] }
        package.dependencies = []
        package.providers = []
    }
}
