import Foundation

/// How often a law is checked: more often with `GRAPHMAPPER_SOAK` in the environment, as `make soak` has it.
func times(_ usual: Int, soak: Int) -> Int {
    ProcessInfo.processInfo.environment["GRAPHMAPPER_SOAK"] == nil ? usual : soak
}
