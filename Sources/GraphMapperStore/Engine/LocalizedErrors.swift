import Foundation

/// What an app shows, or prints as `error.localizedDescription`: the same words as in `description`.
extension StoreError: LocalizedError {
    public var errorDescription: String? { description }
    /// What to do about it, if the message says so.
    public var recoverySuggestion: String? { message.suggestion }
}
