/// The operations of the protocol, under the names that traces and counters show.
public enum Operation: Int, Sendable, CaseIterable {
  case lookup, forget, getattr, setattr, readlink, mknod, mkdir, unlink, rmdir, symlink, rename
  case link, open, create, tmpfile, read, write, flush, release, fsync
  case opendir, readdir, readdirplus, releasedir, fsyncdir, statfs, access
  case setxattr, getxattr, listxattr, removexattr
  case getlk, setlk, flock, fallocate, lseek, copyFileRange
}
