import Foundation
import GraphMapper
import GraphMapperTesting
import Testing

private enum Size: Int {
    case small = 1
    case large = 2
}

@Suite struct `Conversions` {
    private func expectRefused<Value, Target>(_ value: Value, by conversion: Conversion<Value, Target>) {
        let error = #expect(throws: GraphError.self) { try conversion.decode(value) }
        #expect(error?.kind == .conversion)
    }

    @Test(arguments: [
        "12abc", "1,5", "0x1F", " 12", "12 ", "--5", ".", "-", "", " ", "1_000", "5e", "e5", "1e5.5", "1.2.3", "٣",
        "inf",
        "1e400", "1e-400", "1e9223372036854775808", "1e-9223372036854775808",
        "0.1234567890123456789012345678901234567890123",
    ])
    func `text that is not wholly a decimal, or has too many digits, is refused`(text: String) {
        expectRefused(text, by: Conversion<String, Decimal>.decimal)
    }

    @Test(arguments: [
        ("12.50", "12.5"), ("+5", "5"), ("-0", "0"), ("1.", "1"), (".5", "0.5"), ("1e3", "1000"), ("25E-2", "0.25"),
        ("0001", "1"), ("NaN", "NaN"),
    ])
    func `a decimal may be spelt in other ways`(text: String, plain: String) throws {
        let conversion = Conversion<String, Decimal>.decimal
        #expect(try conversion.encode(conversion.decode(text)) == plain)
    }

    @Test(arguments: [
        "", "2024-02-29", "2024-02-29T12:34:56", "2024-02-29T12:34:56Zjunk", "2024-02-29T12:34:56.789Z x",
        "2024-02-29T12:34:56+02:00junk", " 2024-02-29T12:34:56Z", "2024-02-30T12:34:56Z", "2023-02-29T12:34:56Z",
        "1900-02-29T00:00:00Z", "2024-04-31T00:00:00Z", "2024-00-01T00:00:00Z", "2024-13-01T00:00:00Z",
        "2024-01-00T00:00:00Z", "2024-02-29T25:34:56Z", "2024-02-29T12:60:56Z", "2024-02-29T12:34:61Z",
        "2024-2-9T1:3:5Z", "2024-02-29T12:34:56.Z", "2024-02-29T12:34:56.-5Z", "2024-02-29T12:34:56+2:00",
        "2024-02-29T12:34:56+24:00", "2024-02-29T12:34:56+02:60", "2024-02-29T12:34:56+", "+024-02-29T12:34:56Z",
    ])
    func `text that is not wholly a date, or is none of the calendar, is refused`(text: String) {
        expectRefused(text, by: Conversion<String, Date>.iso8601)
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2024-02-29T12:34:56Z", 1_709_210_096),
        ("2024-02-29T12:34:56.5Z", 1_709_210_096.5),
        ("2024-02-29T12:34:56+02:00", 1_709_202_896), ("2024-02-29T12:34:56-0230", 1_709_219_096),
        ("2000-02-29T00:00:00Z", 951_782_400), ("1969-12-31T23:59:59.250Z", -0.75),
        ("0000-01-01T00:00:00Z", -62_167_219_200),
        ("9999-12-31T23:59:59Z", 253_402_300_799), ("2016-12-31T23:59:60Z", 1_483_228_800),
    ])
    func `dates are read`(text: String, seconds: Double) throws {
        #expect(try Conversion<String, Date>.iso8601.decode(text).timeIntervalSince1970 == seconds)
    }

    @Test func `a date comes back to the millisecond, and its text stays as it is`() throws {
        let conversion = Conversion<String, Date>.iso8601
        try check(.int(in: -62_167_219_200_000...253_402_300_799_999)) { milliseconds in
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            let text = try conversion.encode(date)
            try ensure(conversion.decode(text) == date, "\(text) was read as another date")
            try ensure(conversion.encode(conversion.decode(text)) == text, "\(text) was written as another text")
        }
        #expect(try conversion.encode(Date(timeIntervalSince1970: 1_709_210_096.789)) == "2024-02-29T12:34:56.789Z")
        #expect(try conversion.encode(Date(timeIntervalSince1970: -0.0004)) == "1970-01-01T00:00:00.000Z")
    }

    @Test(arguments: [.infinity, -.infinity, .nan, 1e300, 253_402_300_800, -62_167_219_201] as [Double])
    func `a date without a text of four-digit years is refused`(seconds: Double) {
        expectRefused(Date(timeIntervalSince1970: seconds), by: Conversion<String, Date>.iso8601.reversed)
    }

    @Test(arguments: [.infinity, -.infinity, .nan] as [Double])
    func `seconds that are no number are no date`(seconds: Double) {
        expectRefused(seconds, by: Conversion<Double, Date>.epoch)
        expectRefused(Date(timeIntervalSince1970: seconds), by: Conversion<Double, Date>.epoch.reversed)
    }

    @Test(arguments: ["", "x", "Fx", "F ", "F\0x", " F", "F}"])
    func `text that is not wholly a UUID is refused`(end: String) throws {
        let conversion = Conversion<String, UUID>.uuid
        let start = "E621E1F8-C36C-495A-93FC-0C247A3E6E5"
        #expect(try conversion.encode(conversion.decode((start + "F").lowercased())) == start + "F")
        expectRefused(start + end, by: conversion)
    }

    @Test(arguments: ["", "http://["]) func `text that is no URL is refused`(text: String) throws {
        expectRefused(text, by: Conversion<String, URL>.url)
        #expect(try Conversion<String?, URL?>.url.decode(nil) == nil)
    }

    @Test func `a raw value that no case has is refused`() throws {
        let conversion = Conversion<Int, Size>.rawValue
        #expect(try conversion.encode(conversion.decode(2)) == 2)
        expectRefused(0, by: conversion)
    }

    @Test func `conversions follow each other, turn round and lift to optionals`() throws {
        let cents = Conversion<Decimal, Int> {
            NSDecimalNumber(decimal: $0 * 100).intValue
        } encode: {
            Decimal($0) / 100
        }
        let price = Conversion<String, Decimal>.decimal.then(cents)
        #expect(try price.decode("2.50") == 250 && price.encode(250) == "2.5")
        #expect(try price.reversed.decode(250) == "2.5" && price.reversed.encode("2.50") == 250)
        #expect(try price.optional.decode(nil) == nil && price.optional.decode("1") == 100)
        expectRefused("x", by: price.optional)
    }

    @Test func `the built-in ones have a form for optionals`() throws {
        let missing: String? = nil
        #expect(try Conversion<String?, URL?>.url.decode(missing) == nil)
        #expect(try Conversion<String?, UUID?>.uuid.decode(missing) == nil)
        #expect(try Conversion<String?, Decimal?>.decimal.decode("1.5") == 1.5)
        #expect(try Conversion<String?, Date?>.iso8601.encode(nil) == nil)
        #expect(try Conversion<Double?, Date?>.epoch.decode(1) == Date(timeIntervalSince1970: 1))
        expectRefused("x", by: Conversion<String?, Date?>.iso8601)
    }
}
