import CExtendedAttributes
import Glibc

/// The bare calls as a careful C program makes them: measure, allocate, read.
func bareRead(_ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>) -> Int {
  let size = getxattr(path, name, nil, 0)
  guard size >= 0, let memory = malloc(max(size, 1)) else { return -1 }
  let count = getxattr(path, name, memory, size)
  free(memory)
  return count
}
