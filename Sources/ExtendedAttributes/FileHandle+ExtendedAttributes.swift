public import Foundation

extension FileHandle {
  /// The extended attributes of the open file.
  ///
  /// They can be read and written whatever the file was opened for, and also when its last name is
  /// gone. The view keeps the handle alive; do not close the handle while it is used.
  public var extendedAttributes: ExtendedAttributeView {
    ExtendedAttributeView(fileHandle: self)
  }
}
