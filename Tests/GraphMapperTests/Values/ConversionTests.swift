import Foundation
import GraphMapper
import GraphMapperTesting
import Testing

@Suite struct `Conversions` {
    @Test func `ISO dates come back to the millisecond`() throws {
        let conversion = Conversion<String, Date>.iso8601
        let milliseconds = Gen<Int>.int(in: -8_000_000_000_000...8_000_000_000_000)
        try check(milliseconds, count: 500) { number in
            let seconds = Int((Double(number) / 1000).rounded(.down))
            let fraction = number - seconds * 1000
            let whole = Date.ISO8601FormatStyle().format(Date(timeIntervalSince1970: Double(seconds)))
            let text = whole.replacingOccurrences(of: "Z", with: String(format: ".%03dZ", fraction))
            let back = try conversion.encode(conversion.decode(text))
            try ensure(back == text, "\(text) became \(back)")
        }
        #expect(try conversion.encode(conversion.decode("2024-02-29T12:34:56Z")) == "2024-02-29T12:34:56.000Z")
    }
}
