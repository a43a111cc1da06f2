// Declarations of the same shape as SwiftUI's: what `docs/observation.md` compiles against. They do nothing.

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

@resultBuilder public struct ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
}

public struct Text: View {
    public init(_ content: some StringProtocol) {}
    public var body: Never { fatalError() }
}

public struct List<Content: View>: View {
    public init<Data: RandomAccessCollection, ID: Hashable>(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder rowContent: @escaping (Data.Element) -> Content
    ) {}
    public var body: Never { fatalError() }
}

public struct Worked: View {
    public var body: Never { fatalError() }
}

extension View {
    public func task(
        priority: TaskPriority = .userInitiated, @_inheritActorContext _ action: sending @escaping () async -> Void
    ) -> some View { Worked() }
}

@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
}
