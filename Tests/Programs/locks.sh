#!/bin/bash
# Proves that flock and fcntl locks (of processes and of open files) work between processes on the mount:
# they exclude, wait, are shared, cover ranges, and end with their process.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need flock util-linux
need /usr/bin/python3 python3
cd "$work"
: >lock

cat >"$scratch/locks.py" <<'END'
import errno, fcntl, os, signal, struct, subprocess, sys, time

PATH = "lock"
OFD_SETLK = 37


class Process:
    """Another process, which holds what it is told to and says when."""

    CODE = """
import errno, fcntl, os, struct, sys
fd = os.open("lock", os.O_RDWR)
for line in sys.stdin:
    try:
        exec(line)
        print("ok", flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
"""

    def __init__(self):
        self.child = subprocess.Popen(
            [sys.executable, "-c", self.CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, code):
        self.child.stdin.write(code + "\n")
        self.child.stdin.flush()

    def answer(self):
        return self.child.stdout.readline().strip()

    def do(self, code):
        self.start(code)
        return self.answer()

    def end(self, signal_number=signal.SIGTERM):
        self.child.send_signal(signal_number)
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


def expect(what, expected, actual):
    if expected != actual:
        sys.exit(f"{what}: expected {expected}, got {actual}")


def waits(process, what):
    """The process is asleep in the kernel, waiting, and has answered nothing."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with open(f"/proc/{process.child.pid}/stat") as file:
            if file.read().rpartition(") ")[2][0] in "SD":
                break
        time.sleep(0.01)
    os.set_blocking(process.child.stdout.fileno(), False)
    expect(what, None, process.child.stdout.buffer.raw.read(100))
    os.set_blocking(process.child.stdout.fileno(), True)


NOW = "fcntl.LOCK_EX | fcntl.LOCK_NB"
for call in ("flock", "lockf"):
    a, b = Process(), Process()
    expect(f"{call}: the first", "ok", a.do(f"fcntl.{call}(fd, {NOW})"))
    expect(f"{call}: the second", "EAGAIN", b.do(f"fcntl.{call}(fd, {NOW})"))
    expect(f"{call}: a shared one", "EAGAIN", b.do(f"fcntl.{call}(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)"))
    b.start(f"fcntl.{call}(fd, fcntl.LOCK_EX)")
    time.sleep(0.1)
    waits(b, f"{call}: a waiting one")
    expect(f"{call}: unlock", "ok", a.do(f"fcntl.{call}(fd, fcntl.LOCK_UN)"))
    expect(f"{call}: the waiting one", "ok", b.answer())
    expect(f"{call}: now the first", "EAGAIN", a.do(f"fcntl.{call}(fd, {NOW})"))
    b.end(signal.SIGKILL)
    expect(f"{call}: after the holder was killed", "ok", a.do(f"fcntl.{call}(fd, fcntl.LOCK_EX)"))
    a.do(f"fcntl.{call}(fd, fcntl.LOCK_UN)")
    c = Process()
    expect(f"{call}: shared", "ok", a.do(f"fcntl.{call}(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)"))
    expect(f"{call}: shared too", "ok", c.do(f"fcntl.{call}(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)"))
    expect(f"{call}: exclusive beside shared", "EAGAIN", a.do(f"fcntl.{call}(fd, {NOW})"))
    a.end()
    c.end()

# Ranges, and what F_GETLK tells.
a, b = Process(), Process()
expect("range 100-199", "ok", a.do(f"fcntl.lockf(fd, {NOW}, 100, 100)"))
expect("range 0-99", "ok", b.do(f"fcntl.lockf(fd, {NOW}, 100, 0)"))
expect("range 200-", "ok", b.do(f"fcntl.lockf(fd, {NOW}, 0, 200)"))
expect("range 150-250", "EAGAIN", b.do(f"fcntl.lockf(fd, {NOW}, 100, 150)"))
fd = os.open(PATH, os.O_RDWR)
form = "hhqqi4x"
ask = struct.pack(form, fcntl.F_WRLCK, os.SEEK_SET, 120, 10, 0)
kind, whence, start, length, pid = struct.unpack(form, fcntl.fcntl(fd, fcntl.F_GETLK, ask))
expect("F_GETLK", (fcntl.F_WRLCK, 100, 100, a.child.pid), (kind, start, length, pid))
# Closing any descriptor of the file ends a process's locks on it.
expect("close", "ok", a.do("os.close(os.open('lock', os.O_RDONLY))"))
expect("range 100-199 after the close", "ok", b.do(f"fcntl.lockf(fd, {NOW}, 100, 100)"))
b.end()

# Locks of open files (F_OFD_SETLK) stay when another descriptor is closed, and exclude within one process.
lock = struct.pack(form, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
fcntl.fcntl(fd, OFD_SETLK, lock)
other = os.open(PATH, os.O_RDWR)
try:
    fcntl.fcntl(other, OFD_SETLK, lock)
    sys.exit("two open files have one lock")
except OSError as error:
    expect("F_OFD_SETLK", errno.EAGAIN, error.errno)
os.close(other)
expect("against it", "EAGAIN", a.do(f"fcntl.lockf(fd, {NOW})"))
os.close(fd)
expect("after its close", "ok", a.do(f"fcntl.lockf(fd, {NOW})"))

# A waiting process that is killed gives up what it had.
b = Process()
a.do("fcntl.lockf(fd, fcntl.LOCK_UN)")
expect("a has 0", "ok", a.do("fcntl.lockf(fd, fcntl.LOCK_EX, 1, 0)"))
expect("b has 1", "ok", b.do("fcntl.lockf(fd, fcntl.LOCK_EX, 1, 1)"))
a.start("fcntl.lockf(fd, fcntl.LOCK_EX, 1, 1)")
time.sleep(0.1)
waits(a, "a waits for 1")
a.end(signal.SIGKILL)
expect("b gets 0 when a is killed while it waits", "ok", b.do("fcntl.lockf(fd, fcntl.LOCK_EX, 1, 0)"))
b.end()
END
quietly 60 /usr/bin/python3 "$scratch/locks.py"

# Eight processes count under a lock; with a lock that excludes, none is lost.
printf '0' >count
for ((i = 0; i < 8; i++)); do
  (
    for ((j = 0; j < 25; j++)); do
      # shellcheck disable=SC2016 # the inner shell expands it
      timeout 60 flock lock bash -c 'read -r n <count || true; printf "%d" $((n + 1)) >count'
    done
  ) &
  children+=($!)
done
for child in "${children[@]}"; do wait "$child"; done
children=()
expect_equal 'counted under flock' 200 "$(<count)"
# Held through a descriptor of this shell, refused to a process without it.
exec 8>lock
flock -n 8
status=0
flock -n -E 9 lock true || status=$?
expect_equal 'flock -n beside a holder' 9 "$status"
exec 8>&-
flock -n lock true
finish
