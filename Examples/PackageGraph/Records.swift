public import GraphMapperStore

public struct PackageRecord: StoredRecord {
    public typealias Model = Package
    public let id: String
    let version: String
    let summary: String
    let dependencies: [Ref<DependencyRecord>]
    let providers: [Ref<PackageRecord>]
    public static let schema = Schema<Self>("package") { row in
        try Self(
            id: row("name", \.id), version: row("version", \.version), summary: row("summary", \.summary),
            dependencies: row("dependencies", \.dependencies), providers: row("providers", \.providers))
    }
    public static var mapping: Mapping<Self> {
        Mapping {
            Package(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.version, \.version)
            Field(\.summary, \.summary)
            Many(\.dependencies, \.dependencies)
            Many(\.providers, \.providers)
        }
    }
}

public struct DependencyRecord: StoredRecord {
    public typealias Model = Dependency
    public let id: String
    let clause: String
    let alternatives: [Ref<PackageRecord>]
    public static let schema = Schema<Self>("dependency") { row in
        try Self(
            id: row("id", \.id), clause: row("clause", \.clause), alternatives: row("alternatives", \.alternatives))
    }
    public static var mapping: Mapping<Self> {
        Mapping {
            Dependency(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.clause, \.clause)
            Many(\.alternatives, \.alternatives)
        }
    }
}
