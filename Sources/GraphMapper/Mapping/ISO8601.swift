import Foundation

/// A time of the form `2024-02-29T12:34:56.789Z`, a profile of ISO 8601. Years have four digits, and the calendar is
/// Gregorian throughout. Foundation's reader takes text with anything behind the date, and days that no month has.
enum ISO8601 {
    /// The date that the whole text is; nil for any other text. The fraction may be missing, and have any number of
    /// digits; the zone is `Z`, `+02:00` or `+0200`.
    static func date(_ text: String) -> Date? {
        var rest = Digits(text: text.utf8[...])
        guard let year = rest.number(4), rest.skip("-"), let month = rest.number(2), (1...12).contains(month),
            rest.skip("-"), let day = rest.number(2), day >= 1, day <= days(in: month, of: year),
            rest.skip("T"), let hour = rest.number(2), hour < 24, rest.skip(":"), let minute = rest.number(2),
            minute < 60,
            rest.skip(":"), let second = rest.number(2), second <= 60,  // 60 is a leap second
            let fraction = rest.fraction(), let zone = rest.zone(), rest.text.isEmpty
        else { return nil }
        let whole = ((dayNumber(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - zone
        return Date(timeIntervalSince1970: Double(whole) + fraction)
    }

    /// The text of a date, rounded to milliseconds, in UTC; nil if its year does not have four digits.
    static func text(_ date: Date) -> String? {
        guard let milliseconds = Int(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else { return nil }
        let (days, time) = split(milliseconds, 86_400_000)
        guard (dayNumber(0, 1, 1)...dayNumber(9999, 12, 31)).contains(days) else { return nil }
        let (year, month, day) = calendarDay(days)
        let parts = [
            padded(year, 4), "-", padded(month, 2), "-", padded(day, 2), "T", padded(time / 3_600_000, 2), ":",
            padded(time / 60_000 % 60, 2), ":", padded(time / 1000 % 60, 2), ".", padded(time % 1000, 3), "Z",
        ]
        return parts.joined()
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func split(_ number: Int, _ divisor: Int) -> (quotient: Int, remainder: Int) {
        let remainder = number % divisor
        return remainder < 0
            ? (number / divisor - 1, remainder + divisor) : (number / divisor, remainder)
    }

    private static func days(in month: Int, of year: Int) -> Int {
        if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
        return [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    // Years are counted from March on, so that the leap day is a year's last one: then month `m` begins at day
    // (153m + 2) / 5, and a cycle of 400 years has 146 097 days. Day 0 is 1970-01-01, 719 468 days after 0000-03-01.

    private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let (cycle, year) = split(month > 2 ? year : year - 1, 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return cycle * 146_097 + year * 365 + year / 4 - year / 100 + dayOfYear - 719_468
    }

    private static func calendarDay(_ number: Int) -> (year: Int, month: Int, day: Int) {
        let (cycle, day) = split(number + 719_468, 146_097)
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let march = (5 * dayOfYear + 2) / 153
        let month = (march + 2) % 12 + 1
        return (cycle * 400 + year + (month > 2 ? 0 : 1), month, dayOfYear - (153 * march + 2) / 5 + 1)
    }
}

/// Reads numbers of fixed width from the start of a text.
private struct Digits {
    var text: Substring.UTF8View

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard text.first == UInt8(ascii: character) else { return false }
        text.removeFirst()
        return true
    }

    /// The number of exactly `width` digits.
    mutating func number(_ width: Int) -> Int? {
        guard text.count >= width else { return nil }
        var value = 0
        for _ in 0..<width {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// What follows a point, if there is one; nil for a point without digits.
    mutating func fraction() -> Double? {
        guard skip(".") else { return 0 }
        guard let end = text.firstIndex(where: { !(48...57).contains($0) }), end > text.startIndex else { return nil }
        defer { text = text[end...] }
        return Double("0." + String(Substring(text[..<end])))
    }

    /// The seconds that the zone is ahead of UTC.
    mutating func zone() -> Int? {
        if skip("Z") { return 0 }
        let sign = skip("+") ? 1 : -1
        guard sign == 1 || skip("-"), let hours = number(2), hours < 24 else { return nil }
        _ = skip(":")
        guard let minutes = number(2), minutes < 60 else { return nil }
        return sign * (hours * 60 + minutes) * 60
    }

    private mutating func digit() -> Int? {
        guard let byte = text.first, (48...57).contains(byte) else { return nil }
        text.removeFirst()
        return Int(byte) - 48
    }
}
