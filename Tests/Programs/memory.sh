#!/bin/bash
# Proves that processes see one another's changes at once, however they make them: shared maps, write, sendfile,
# splice, copy_file_range; private maps stay private; a map outlives its file's name.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need /usr/bin/python3 python3
cd "$work"
cat >"$scratch/memory.py" <<'END'
import ctypes, mmap, os, subprocess, sys

SIZE = 64 * 1024
CHILD = """
import mmap, os, sys
fd = os.open("shared", os.O_RDWR)
view = mmap.mmap(fd, %d)
for line in sys.stdin:
    print(eval(line), flush=True)
""" % SIZE


def expect(what, expected, actual):
    if expected != actual:
        sys.exit(f"{what}: expected {str(expected)[:80]}, got {str(actual)[:80]}")


fd = os.open("shared", os.O_RDWR | os.O_CREAT)
os.truncate(fd, SIZE)
view = mmap.mmap(fd, SIZE)
child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(code):
    child.stdin.write(code + "\n")
    child.stdin.flush()
    return child.stdout.readline().rstrip("\n")


# Each way to write is seen by each way to read, in the other process, without a sync.
for number in range(200):
    offset = number * 321
    mark = b"%05d" % number
    view[offset : offset + 5] = mark
    expect("map to map", repr(mark), ask(f"view[{offset}:{offset + 5}]"))
    expect("map to read", repr(mark), ask(f"os.pread(fd, 5, {offset})"))
    mark = mark[::-1]
    os.pwrite(fd, mark, offset)
    expect("write to map", repr(mark), ask(f"view[{offset}:{offset + 5}]"))
    expect("write to read", repr(mark), ask(f"os.pread(fd, 5, {offset})"))
    ask(f"view.__setitem__(slice({offset}, {offset + 5}), b'child')")
    expect("map to this map", b"child", view[offset : offset + 5])
    expect("map to this read", b"child", os.pread(fd, 5, offset))
    ask(f"os.pwrite(fd, b'wrote', {offset})")
    expect("write to this map", b"wrote", view[offset : offset + 5])

# A counter that both add to in turn, in the shared page.
view[0:8] = (0).to_bytes(8, "little")
for number in range(200):
    value = int.from_bytes(view[0:8], "little")
    view[0:8] = (value + 1).to_bytes(8, "little")
    ask("view.__setitem__(slice(0, 8), (int.from_bytes(view[0:8], 'little') + 1).to_bytes(8, 'little'))")
expect("counter", 400, int.from_bytes(view[0:8], "little"))

# Growing and shrinking, seen by the other's stat and map.
os.truncate("shared", SIZE * 2)
expect("size after growing", str(SIZE * 2), ask("os.fstat(fd).st_size"))
os.truncate("shared", SIZE)
expect("size after shrinking", str(SIZE), ask("os.stat('shared').st_size"))

# A private map's changes stay its own.
private = mmap.mmap(fd, SIZE, access=mmap.ACCESS_COPY)
private[100:107] = b"private"
if os.pread(fd, 7, 100) == b"private":
    sys.exit("a private map's change reached the file")
private.close()

# What sync and a fresh open find is what the maps held.
view.flush()
with open("shared", "rb") as file:
    expect("the file after msync", view[:], file.read())

# The map and the descriptor outlive the name.
os.unlink("shared")
view[5:9] = b"gone"
expect("map of a removed file", repr(b"gone"), ask("view[5:9]"))
expect("links of a removed file", "0", ask("os.fstat(fd).st_nlink"))
child.stdin.close()
expect("the other process", 0, child.wait(20))

# sendfile, splice and copy_file_range between files of this file system and another.
content = os.urandom(3_000_000)
scratch = sys.argv[1]
for source_directory, target_directory in ((".", "."), (".", scratch), (scratch, ".")):
    source, target = os.path.join(source_directory, "source"), os.path.join(target_directory, "target")
    with open(source, "wb") as file:
        file.write(content)
    for way in ("sendfile", "splice", "copy_file_range"):
        a = os.open(source, os.O_RDONLY)
        b = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        total = 0
        if way == "splice":
            r, w = os.pipe()
            while count := os.splice(a, w, 60_000):
                while count:
                    moved = os.splice(r, b, count)
                    count -= moved
                    total += moved
            os.close(r)
            os.close(w)
        elif way == "sendfile":
            while count := os.sendfile(b, a, total, 1 << 20):
                total += count
        else:
            try:
                while count := os.copy_file_range(a, b, 1 << 20):
                    total += count
            except OSError as error:
                # Between file systems it may be refused, but then from the first byte on.
                if source_directory == target_directory or total:
                    raise
                total = len(content)
                os.pwrite(b, content, 0)
        os.close(a)
        os.close(b)
        expect(f"{way} from {source} to {target}, length", len(content), total)
        with open(target, "rb") as file:
            if file.read() != content:
                sys.exit(f"{way} from {source} to {target}: other content")
    os.unlink(source)
    os.unlink(target)

# O_DIRECT against the cache.
with open("direct", "wb") as file:
    file.write(content[: 1 << 20])
try:
    direct = os.open("direct", os.O_RDWR | os.O_DIRECT)
except OSError:
    direct = None  # not every source has it
if direct is not None:
    buffer = mmap.mmap(-1, 8192)
    expect("O_DIRECT read", 8192, os.preadv(direct, [buffer], 4096))
    expect("O_DIRECT read", content[4096:12288], buffer[:])
    buffer[:] = b"d" * 8192
    expect("O_DIRECT write", 8192, os.pwritev(direct, [buffer], 8192))
    with open("direct", "rb") as file:
        expect("after an O_DIRECT write", content[:8192] + b"d" * 8192 + content[16384 : 1 << 20], file.read())
    os.close(direct)
END
quietly 120 /usr/bin/python3 "$scratch/memory.py" "$scratch"
finish
