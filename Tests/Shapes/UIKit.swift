// Declarations of the same shape as UIKit's: what `docs/observation.md` compiles against. They do nothing.

import Foundation

extension IndexPath {
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
    public var section: Int { self[0] }
    public var row: Int { self[1] }
    public var item: Int { self[1] }
}

@MainActor open class UIViewController {
    public init() {}
}

@MainActor open class UILabel {
    public init() {}
    open var text: String?
}

@MainActor open class UITableViewCell {
    public init() {}
    open var textLabel: UILabel? { nil }
}

@MainActor open class UITableView {
    public enum RowAnimation: Sendable { case automatic, fade, none }
    public init() {}
    open func reloadData() {}
    open func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {}
    open func deleteRows(at paths: [IndexPath], with animation: RowAnimation) {}
    open func insertRows(at paths: [IndexPath], with animation: RowAnimation) {}
    open func reloadRows(at paths: [IndexPath], with animation: RowAnimation) {}
    open func reconfigureRows(at paths: [IndexPath]) {}
    open func moveRow(at path: IndexPath, to newPath: IndexPath) {}
    open func deleteSections(_ sections: IndexSet, with animation: RowAnimation) {}
    open func insertSections(_ sections: IndexSet, with animation: RowAnimation) {}
    open func dequeueReusableCell(withIdentifier identifier: String, for path: IndexPath) -> UITableViewCell {
        UITableViewCell()
    }
}

@MainActor open class UITableViewController: UIViewController {
    open var tableView: UITableView! = UITableView()
    open func numberOfSections(in tableView: UITableView) -> Int { 1 }
    open func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int { 0 }
    open func tableView(_ tableView: UITableView, titleForHeaderInSection section: Int) -> String? { nil }
    open func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell {
        UITableViewCell()
    }
}

public struct NSDiffableDataSourceSnapshot<Section: Hashable & Sendable, Item: Hashable & Sendable>: Sendable {
    public init() {}
    public mutating func appendSections(_ identifiers: [Section]) {}
    public mutating func appendItems(_ identifiers: [Item], toSection section: Section? = nil) {}
    public mutating func reconfigureItems(_ identifiers: [Item]) {}
}

@MainActor open class UICollectionViewDiffableDataSource<Section: Hashable & Sendable, Item: Hashable & Sendable> {
    public init() {}
    open func apply(
        _ snapshot: NSDiffableDataSourceSnapshot<Section, Item>, animatingDifferences: Bool = true,
        completion: (() -> Void)? = nil
    ) {}
}
