import Foundation

/// A plot of a few lines, as SVG.
struct Plot {
    struct Series {
        var name: String
        var points: [(x: Double, y: Double)]
    }

    var title: String
    var x: String
    var y: String
    var series: [Series]

    private static let (width, height) = (640.0, 400.0)
    private static let (left, right, top, bottom) = (70.0, 150.0, 40.0, 50.0)
    private static let colors = ["#1b6ca8", "#c0392b", "#218c53", "#8e44ad", "#b9770e"]

    /// The text of the picture. Both axes start at zero, so that a straight line is a linear cost.
    var svg: String {
        let points = series.flatMap(\.points)
        let (maxX, maxY) = (Self.above(points.map(\.x).max() ?? 1), Self.above(points.map(\.y).max() ?? 1))
        func place(_ point: (x: Double, y: Double)) -> (x: Double, y: Double) {
            (
                Self.left + point.x / maxX * (Self.width - Self.left - Self.right),
                Self.height - Self.bottom - point.y / maxY * (Self.height - Self.top - Self.bottom)
            )
        }
        var parts = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(Int(Self.width)) \(Int(Self.height))\" "
                + "font-family=\"sans-serif\" font-size=\"12\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>", text(title, Self.left, 22, size: 15),
            text(x, (Self.left + Self.width - Self.right) / 2 - 40, Self.height - 12), text(y, 8, Self.top - 6),
        ]
        for step in 0...4 {
            let share = Double(step) / 4
            let (start, end) = (place((0, share * maxY)), place((maxX, share * maxY)))
            parts.append(line([start, end], "#dddddd"))
            parts.append(text(Self.label(share * maxY), 20, start.y + 4))
            let tick = place((share * maxX, 0))
            parts.append(text(Self.label(share * maxX), tick.x - 14, tick.y + 18))
        }
        for (index, one) in series.enumerated() {
            let color = Self.colors[index % Self.colors.count]
            let places = one.points.map(place)
            parts.append(line(places, color, width: 2))
            for place in places {
                parts.append("<circle cx=\"\(place.x)\" cy=\"\(place.y)\" r=\"3\" fill=\"\(color)\"/>")
            }
            if let last = places.last { parts.append(text(one.name, last.x + 8, last.y + 4, color: color)) }
        }
        return (parts + ["</svg>", ""]).joined(separator: "\n")
    }

    private func line(_ places: [(x: Double, y: Double)], _ color: String, width: Int = 1) -> String {
        let list = places.map { String(format: "%.1f,%.1f", $0.x, $0.y) }.joined(separator: " ")
        return "<polyline points=\"\(list)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"\(width)\"/>"
    }

    private func text(_ text: String, _ x: Double, _ y: Double, size: Int = 12, color: String = "#333333") -> String {
        "<text x=\"\(String(format: "%.1f", x))\" y=\"\(String(format: "%.1f", y))\" font-size=\"\(size)\" "
            + "fill=\"\(color)\">\(text)</text>"
    }

    /// The next round number.
    private static func above(_ value: Double) -> Double {
        let unit = pow(10, floor(log10(max(value, 1e-9))))
        return ([1, 2, 4, 5, 8, 10].first { $0 * unit >= value } ?? 10) * unit
    }

    private static func label(_ value: Double) -> String {
        value >= 1000 ? String(format: "%g k", value / 1000) : String(format: "%g", value)
    }
}
