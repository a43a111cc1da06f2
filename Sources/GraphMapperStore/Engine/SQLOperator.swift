/// What stands between two expressions.
enum SQLOperator: Sendable {
    case isSame, isOther, equal, less, lessOrEqual, greater, greaterOrEqual, and, or, plus, minus, times, over
    case modulo
}

/// What is computed of expressions; each engine spells it in its own way.
enum SQLFunction: Sendable {
    /// A text as it is compared by options: text, number of the options.
    case fold
    /// Whether a text is in another, by its bytes.
    case contains
    /// Whether a text ends with another, by its bytes.
    case endsWith
    /// Whether a text fits a pattern.
    case like
    /// The first that is not NULL.
    case coalesce
    /// NULL if both are the same.
    case nullIfSame
    /// A value where a condition holds, else NULL.
    case whereTrue
    /// One of two values, by a condition.
    case choose
    /// What a decimal's text is ordered by, and its way back.
    case decimalOrder, decimalText
    /// Of an array of scalars.
    case elementCount
    /// Of one text, which is given three times.
    case scalarCount
    /// The first so many scalars of a text, which is given once before that, and then each with the number.
    case start
    /// Of one number, which is given twice.
    case absolute
    /// A whole number, if it lies between two others; an error if not.
    case integerInRange
    // Aggregates.
    case count, sum, average, minimum, maximum, decimalSum
}
