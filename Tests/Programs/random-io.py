#!/usr/bin/python3
"""random-io.py FILE SEED OPERATIONS: random I/O on one file, against a model in memory.

Every operation that changes the file changes a bytearray alike; every one that reads compares. The file is
reached through several descriptors and a shared map at once, so that caches that do not agree show.
Prints the seed and the last operations when something differs, and exits 1.
"""

import ctypes
import errno
import mmap
import os
import random
import sys

LIMIT = 1 << 20  # no file grows beyond this
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16

libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]


class Different(Exception):
    pass


class Model:
    def __init__(self, path, seed):
        self.path = path
        self.spare = path + ".renamed"  # the name that it goes to and fro with
        self.random = random.Random(seed)
        self.bytes = bytearray()
        self.descriptors = [os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)]
        self.descriptors += [os.open(path, os.O_RDWR) for _ in range(2)]
        self.unsupported = set()
        self.log = []

    # What the operations share.

    def descriptor(self):
        return self.random.choice(self.descriptors)

    def place(self):
        """An offset and a length, often at the edge of a page or of the file."""
        kind = self.random.randrange(4)
        if kind == 0:
            offset = self.random.randrange(LIMIT)
        elif kind == 1:
            offset = self.random.randrange(LIMIT // 4096) * 4096 + self.random.choice((-1, 0, 1))
        elif kind == 2:
            offset = len(self.bytes) + self.random.randrange(-5000, 5000)
        else:
            offset = self.random.randrange(len(self.bytes) + 1)
        offset = min(max(offset, 0), LIMIT - 1)
        length = self.random.choice((1, 7, 4095, 4096, 4097, self.random.randrange(1, 200_000)))
        return offset, min(length, LIMIT - offset)

    def data(self, length):
        return self.random.randbytes(length)

    def put(self, offset, data):
        if not data:
            return
        if len(self.bytes) < offset + len(data):
            self.bytes.extend(bytes(offset + len(data) - len(self.bytes)))
        self.bytes[offset : offset + len(data)] = data

    def expect(self, what, expected, actual):
        if expected == actual:
            return
        where = ""
        if isinstance(expected, (bytes, bytearray)):
            first = next(
                (i for i, (a, b) in enumerate(zip(expected, actual)) if a != b),
                min(len(expected), len(actual)),
            )
            where = f", first at byte {first}"
            expected, actual = f"{len(expected)} bytes", f"{len(actual)} bytes"
        raise Different(f"{what}: expected {expected}, got {actual}{where}")

    def write_fully(self, descriptor, data, offset):
        while data:
            count = os.pwrite(descriptor, data, offset)
            data, offset = data[count:], offset + count

    def allocate(self, mode, offset, length):
        """Whether the file system has this mode of fallocate."""
        if libc.fallocate(self.descriptor(), mode, offset, length) == 0:
            return True
        code = ctypes.get_errno()
        if code != errno.EOPNOTSUPP:
            raise OSError(code, f"fallocate mode {mode}: {os.strerror(code)}")
        self.unsupported.add(f"fallocate mode {mode}")
        return False

    # The operations, each chosen as often as its name says in `weights`.

    def op_read(self, offset, length):
        actual = os.pread(self.descriptor(), length, offset)
        self.expect("pread", bytes(self.bytes[offset : offset + length]), actual)

    def op_readv(self, offset, length):
        half = length // 2
        buffers = [bytearray(half), bytearray(length - half)]
        count = os.preadv(self.descriptor(), buffers, offset)
        self.expect("preadv", bytes(self.bytes[offset : offset + length]), b"".join(buffers)[:count])

    def op_write(self, offset, length):
        data = self.data(length)
        self.write_fully(self.descriptor(), data, offset)
        self.put(offset, data)

    def op_append(self, offset, length):
        length = min(length, LIMIT - len(self.bytes))
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        data = self.data(length)
        written = 0
        while written < length:
            written += os.write(descriptor, data[written:])
        os.close(descriptor)
        self.put(len(self.bytes), data)

    def op_map_read(self, offset, length):
        if not self.bytes:
            return
        with mmap.mmap(self.descriptor(), len(self.bytes), prot=mmap.PROT_READ) as view:
            self.expect("map", bytes(self.bytes[offset : offset + length]), view[offset : offset + length])

    def op_map_write(self, offset, length):
        length = min(length, len(self.bytes) - offset)
        if length <= 0:
            return
        data = self.data(length)
        with mmap.mmap(self.descriptor(), len(self.bytes)) as view:
            view[offset : offset + length] = data
            if self.random.randrange(2):
                view.flush()
        self.put(offset, data)

    def op_truncate(self, offset, length):
        if self.random.randrange(2):
            os.truncate(self.path, offset)
        else:
            os.ftruncate(self.descriptor(), offset)
        if offset < len(self.bytes):
            del self.bytes[offset:]
        else:
            self.bytes.extend(bytes(offset - len(self.bytes)))

    def op_allocate(self, offset, length):
        keep = self.random.choice((0, KEEP_SIZE))
        if self.allocate(keep, offset, length) and not keep and offset + length > len(self.bytes):
            self.bytes.extend(bytes(offset + length - len(self.bytes)))

    def op_punch(self, offset, length):
        if self.allocate(PUNCH_HOLE | KEEP_SIZE, offset, length):
            end = min(offset + length, len(self.bytes))
            if offset < end:
                self.bytes[offset:end] = bytes(end - offset)

    def op_zero(self, offset, length):
        keep = self.random.choice((0, KEEP_SIZE))
        if self.allocate(ZERO_RANGE | keep, offset, length):
            end = min(offset + length, len(self.bytes)) if keep else offset + length
            if offset < end:
                self.put(offset, bytes(end - offset))

    def op_copy_range(self, offset, length):
        target, _ = self.place()
        length = min(length, LIMIT - target, abs(target - offset))  # within a file they may not overlap
        descriptor = self.descriptor()
        while length > 0 and offset < len(self.bytes):
            try:
                count = os.copy_file_range(descriptor, self.descriptor(), length, offset, target)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EXDEV, errno.ENOSYS):
                    raise
                self.unsupported.add("copy_file_range")
                return
            if count == 0:
                raise Different(f"copy_file_range: nothing copied at {offset} of {len(self.bytes)}")
            self.put(target, bytes(self.bytes[offset : offset + count]))
            offset, target, length = offset + count, target + count, length - count

    def op_seek(self, offset, length):
        """SEEK_DATA and SEEK_HOLE: what lies in a hole must be zero; which zeros are holes is the source's affair."""
        descriptor = self.descriptor()
        size = len(self.bytes)
        try:
            data = os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            data = size
        if offset < size:
            if not offset <= data <= size:
                raise Different(f"SEEK_DATA {offset}: {data} of {size}")
            if any(self.bytes[offset:data]):
                raise Different(f"SEEK_DATA {offset}: {data} skips data")
            hole = os.lseek(descriptor, offset, os.SEEK_HOLE)
            if not offset <= hole <= size:
                raise Different(f"SEEK_HOLE {offset}: {hole} of {size}")
            self.expect("SEEK_END", size, os.lseek(descriptor, 0, os.SEEK_END))
        elif data != size:
            raise Different(f"SEEK_DATA {offset} beyond the end: {data}")

    def op_stat(self, offset, length):
        self.expect("st_size by path", len(self.bytes), os.stat(self.path).st_size)
        self.expect("st_size by descriptor", len(self.bytes), os.fstat(self.descriptor()).st_size)

    def op_sync(self, offset, length):
        (os.fsync if self.random.randrange(2) else os.fdatasync)(self.descriptor())

    def op_reopen(self, offset, length):
        index = self.random.randrange(len(self.descriptors))
        os.close(self.descriptors[index])
        self.descriptors[index] = os.open(self.path, os.O_RDWR)

    def op_forget(self, offset, length):
        """Clean pages leave the cache, so that the next read asks the file system."""
        descriptor = self.descriptor()
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def op_rename(self, offset, length):
        self.path, old = self.spare, self.path
        os.rename(old, self.path)
        self.spare = old

    def op_truncating_open(self, offset, length):
        os.close(os.open(self.path, os.O_WRONLY | os.O_TRUNC))
        self.bytes.clear()

    def op_whole(self, offset, length):
        with open(self.path, "rb") as file:
            self.expect("whole file", bytes(self.bytes), file.read())

    weights = dict(
        read=20, readv=5, write=20, append=5, map_read=10, map_write=10, truncate=6, allocate=3, punch=5,
        zero=3, copy_range=5, seek=5, stat=5, sync=2, reopen=4, forget=3, rename=2, truncating_open=1, whole=2,
    )

    def run(self, operations):
        names = list(self.weights)
        chances = list(self.weights.values())
        for number in range(operations):
            name = self.random.choices(names, chances)[0]
            offset, length = self.place()
            self.log.append(f"{number}: {name} offset {offset} length {length} size {len(self.bytes)}")
            getattr(self, "op_" + name)(offset, length)
        self.op_stat(0, 0)
        self.op_whole(0, 0)
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.op_whole(0, 0)
        os.unlink(self.path)


def main():
    path, seed, operations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    model = Model(path, seed)
    try:
        model.run(operations)
    except (Different, OSError) as error:
        print("\n".join(model.log[-20:]))
        print(f"seed {seed}: {error}")
        return 1
    print(f"seed {seed}: {operations} operations; not supported here: {sorted(model.unsupported) or 'nothing'}")
    return 0


sys.exit(main())
