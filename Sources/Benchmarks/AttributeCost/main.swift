import CAllocationCount
import CExtendedAttributes
import ExtendedAttributes
import Foundation

// What reading an attribute costs, against the bare system calls in the same run:
//
//     attribute-cost time FILE          nanoseconds and ratios
//     attribute-cost allocations FILE   allocations and bytes for one read
//     attribute-cost all FILE           reads all attributes once, for strace to watch
//
// FILE is made if need be and gets attributes of its own.

let usage = "usage: attribute-cost time|allocations|all FILE\n"
guard CommandLine.arguments.count == 3 else {
  FileHandle.standardError.write(Data(usage.utf8))
  exit(2)
}
let path = CommandLine.arguments[2]
do {
  switch CommandLine.arguments[1] {
  case "time": try printTimes(path)
  case "allocations": try printAllocations(path)
  case "all":
    for (name, value) in try ExtendedAttributeView(path: path).all() { print(name, value.count) }
  default:
    FileHandle.standardError.write(Data(usage.utf8))
    exit(2)
  }
} catch {
  FileHandle.standardError.write(Data("attribute-cost: \(error)\n".utf8))
  exit(1)
}
