/// What went wrong, where, and what to do about it.
public struct GraphError: Error, Sendable, CustomStringConvertible {
    /// The kinds of error. New ones may be added.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// A kind of that description; kinds are the same if their descriptions are.
        public init(_ description: String) { self.description = description }

        /// A schema or a mapping is wrong: a programming error, found at start-up.
        public static let invalidSchema = Kind("invalid schema")
        /// A value could not be converted.
        public static let conversion = Kind("conversion")
        /// A reference to something that is not there.
        public static let dangling = Kind("dangling reference")
        /// Two copies of one object differ, or two instances claim one id.
        public static let conflict = Kind("conflict")
        /// Objects that need each other to be made.
        public static let cycle = Kind("cycle")
        /// A load went past its cap on rows.
        public static let tooLarge = Kind("too large")
        /// A link is not where it could be written from.
        public static let unreachable = Kind("unreachable")
        /// A link's rule denies a deletion.
        public static let denied = Kind("denied")
        /// Something was called that may not be called now.
        public static let misuse = Kind("misuse")
    }

    /// What kind of error it is.
    public var kind: Kind
    /// What happened and what to do, in a sentence.
    public var message: String
    /// The type, id and property concerned, as far as known.
    public var type: String?
    /// The id of the object concerned, as text.
    public var id: String?
    /// The name of the property concerned.
    public var property: String?
    /// The way from the root to the place, such as `user(7).cart.items[3].price`.
    public var path: String?

    /// What the app and another writer have both changed, all that was found; for errors of kind `.conflict` that a save
    /// throws.
    public var conflicts: [Conflict] = []

    /// An error of a kind, with what is known of its place.
    public init(
        _ kind: Kind, _ message: String, type: String? = nil, id: String? = nil, property: String? = nil,
        path: String? = nil
    ) {
        self.kind = kind
        self.message = message
        self.type = type
        self.id = id
        self.property = property
        self.path = path
    }

    public var description: String {
        let object = (type ?? "") + (id.map { "(\($0))" } ?? "")
        var place = path ?? object
        if let path {
            if !path.contains(object) { place += " (\(object))" }
        } else if let property {
            place += place.isEmpty ? property : ".\(property)"
        }
        return place.isEmpty ? "\(kind): \(message)" : "\(kind) at \(place): \(message)"
    }
}
