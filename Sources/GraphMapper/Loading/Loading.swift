/// How far a load follows links.
///
/// A link that is not followed is unknown, not empty: nil or empty in it is never written. What the session has
/// already filled stays. Links that a model's initializer needs are always followed.
public struct Loading {
    /// The on-demand links that are followed too, or, if `isOnly`, all that are followed.
    let links: Set<AnyKeyPath>
    let isOnly: Bool
    /// How many links away from the roots objects are loaded.
    let depth: Int

    private init(links: Set<AnyKeyPath> = [], isOnly: Bool = false, depth: Int = .max) {
        self.links = links
        self.isOnly = isOnly
        self.depth = depth
    }

    /// Every link but those marked on demand.
    public static var all: Self { Self() }
    /// No link.
    public static var none: Self { Self(depth: 0) }
    /// Links of objects fewer than so many links away from the roots, but those marked on demand. 0 is ``none``.
    public static func depth(_ count: Int) -> Self { Self(depth: max(0, count)) }
    /// Only these links, wherever they occur, on demand or not: `[\User.cart, \ShoppingCart.items]`.
    public static func only(_ links: [AnyKeyPath]) -> Self { Self(links: Set(links), isOnly: true) }
    /// Every link but those marked on demand, and of these the ones named.
    public static func following(_ links: [AnyKeyPath]) -> Self { Self(links: Set(links)) }
}
