// For `docs/other-stores.md`: classes as Xcode generates them for a model in which a folder has notes and a note has a folder. Required
// attributes are not optional.

class FolderObject: NSManagedObject, Identifiable {
    var id = ""
    var name = ""
}

class NoteObject: NSManagedObject, Identifiable {
    var id = ""
    var text = ""
    var folder: FolderObject?
}
