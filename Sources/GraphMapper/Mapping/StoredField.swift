/// Where a property lies in its DTO: a struct's stored property is loaded from its offset. Through the key path the
/// whole struct would be copied to get at one property.
@usableFromInline struct StoredField<D, V> {
    /// Bytes from the start of the DTO; -1 for properties of classes and computed ones.
    @usableFromInline let offset: Int

    @inlinable @inline(__always) init(_ path: () -> KeyPath<D, V>) { offset = MemoryLayout<D>.offset(of: path()) ?? -1 }

    @inlinable @inline(__always) func value(_ dto: UnsafePointer<D>, _ path: () -> KeyPath<D, V>) -> V {
        offset >= 0
            ? (UnsafeRawPointer(dto) + offset).assumingMemoryBound(to: V.self).pointee : dto.pointee[keyPath: path()]
    }
}
