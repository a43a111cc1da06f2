/// A value that lies in the row of the DTO, one column a property: see ``EmbeddedValue``.
///
/// A save writes only the columns of the value that changed.
public struct Embedded<D: Mappable, V: EmbeddedValue, W>: MappingEntry
where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// What the session does with this entry.
    public let step: Step<D>
    @usableFromInline init(_ step: Step<D>) { self.step = step }

    /// A value that is converted both ways.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, W>, using conversion: Conversion<V, W>
    ) {
        self.init(Field(from(), to(), using: conversion).step)
    }

    /// A value that is converted both ways; nil, all columns NULL, stays nil.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, W?>, using conversion: Conversion<V, W>
    ) {
        self.init(Field(from(), to(), using: conversion.optional).step)
    }
}

extension Embedded where V == W {
    /// A value as it is.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, V>
    ) {
        self.init(Field(from(), to()).step)
    }

    /// A value as it is; nil is NULL in all columns.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, V?>
    ) {
        self.init(Field(from(), to()).step)
    }

    /// A value as it is, which the model's initializer sets, such as an id of several parts.
    @inlinable @inline(__always) @_disfavoredOverload
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, V>, _ to: @autoclosure @escaping () -> KeyPath<D.Model, V>
    ) {
        self.init(Field(from(), to()).step)
    }
}
