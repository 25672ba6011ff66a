import Overlay

/// A directory that an overlay shows; what the other tests call a source is a file system.
typealias ShownSource = Source
