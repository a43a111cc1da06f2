import Foundation

/// What an app shows, or prints as `error.localizedDescription`: the same words as in `description`.
extension GraphError: LocalizedError {
    public var errorDescription: String? { description }
    /// What to do about it, if the message says so.
    public var recoverySuggestion: String? { message.suggestion }
}

extension String {
    /// What follows the semicolon in "what happened; what to do".
    package var suggestion: String? {
        guard let semicolon = range(of: "; ") else { return nil }
        let rest = self[semicolon.upperBound...]
        return rest.prefix(1).uppercased() + rest.dropFirst()
    }
}
