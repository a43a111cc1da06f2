import ShopModels

/// Holds models weakly, to count those that are alive.
struct Lifetimes {
    private struct Weak {
        weak var model: AnyObject?
    }
    private var all: [Weak] = []

    /// Every user with its cart, and every item once.
    init(_ users: [User]) {
        var seen: Set<ObjectIdentifier> = []
        for user in users {
            all.append(Weak(model: user))
            guard let cart = user.cart else { continue }
            all.append(Weak(model: cart))
            for item in cart.items where seen.insert(ObjectIdentifier(item)).inserted { all.append(Weak(model: item)) }
        }
    }

    var watched: Int { all.count }
    var alive: Int { all.count { $0.model != nil } }
}
