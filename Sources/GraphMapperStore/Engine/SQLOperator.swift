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
    /// A value as a number to add up, NULL for NULL and for NaN, and an error for what is none: with whether there may be
    /// a NaN.
    case number
    /// The same for a column, which is given three times, with whether there may be a NaN after the second.
    case checkedNumber
    /// A text as Swift compares it: spellings of a letter are one.
    case canonical
    /// Whether the characters of a text are among those of another, in a row; whether it starts with them.
    case containsCharacters, startsWithCharacters
    // Aggregates.
    case count, sum, average, minimum, maximum, decimalSum, decimalAverage
}
