#!/bin/bash
# Proves that programs run from the mount: scripts, binaries, libraries, with set-user-ID and with file
# capabilities, which live in the attribute security.capability and go when the file is written; that a running
# binary is busy; that unix sockets and fifos on the mount connect processes.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need gcc gcc
need setcap libcap2-bin
need /usr/bin/python3 python3
chmod 755 "${work%/work}"
cd "$work"
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }

# shellcheck disable=SC2016 # the script expands it
printf '#!/bin/sh\necho "script $1"\n' >script
expect_failure 'a script without the x bit' 'Permission denied' ./script
chmod 755 script
expect_equal 'a script' 'script runs' "$(./script runs)"
expect_equal 'a script, as nobody' 'script runs' "$(as_nobody ./script runs)"
printf '#!%s/script\n' "$work" >interpreted
chmod 755 interpreted
expect_equal 'a script of a script on the mount' 'script ./interpreted' "$(./interpreted 2>&1 || true)"

# A program and its library, both on the mount; the library is mapped and then replaced by rename.
cat >library.c <<'END'
int answer(void) { return 42; }
END
cat >program.c <<'END'
#include <stdio.h>
#include <unistd.h>
int answer(void);
int main(void) { printf("%d %d %d\n", answer(), (int)getuid(), (int)geteuid()); return 0; }
END
gcc -shared -fPIC -o libanswer.so library.c
gcc -o program program.c -L. -lanswer -Wl,-rpath,"$work"
expect_equal 'a program' '42 0 0' "$(./program)"
sed 's/42/43/' library.c >library2.c
gcc -shared -fPIC -o libnew.so library2.c
mv libnew.so libanswer.so
expect_equal 'a program with its library replaced' '43 0 0' "$(./program)"

# Set-user-ID: as nobody, it runs as its owner; a write by another takes the bit away.
cat >who.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%d %d\n", (int)getuid(), (int)geteuid()); return 0; }
END
gcc -static -o who who.c
chown 12 who
chmod 4777 who
expect_equal 'set-user-ID' '65534 12' "$(as_nobody ./who)"
as_nobody bash -c 'printf x >>who'
expect_equal 'mode after a write by nobody' 777 "$(stat -c %a who)"
chmod 4755 who
chown 13 who
expect_equal 'mode after chown' 755 "$(stat -c %a who)"

# File capabilities. /proc tells what the program has.
cp "$(realpath /usr/bin/grep)" capable
chmod 777 capable
effective() { as_nobody ./capable CapEff /proc/self/status | cut -f 2; }
expect_equal 'capabilities of a plain file' 0000000000000000 "$(effective)"
setcap cap_net_raw+ep capable
expect_equal getcap 'capable cap_net_raw=ep' "$(getcap capable)"
expect_equal 'capabilities of the program' 0000000000002000 "$(effective)"
mv capable moved
ln moved capable
expect_equal 'through another name' 0000000000002000 "$(effective)"
cp -a capable copy
expect_equal 'getcap of the copy' 'copy cap_net_raw=ep' "$(getcap copy)"
cp capable plain-copy
expect_equal 'getcap of a plain copy' '' "$(getcap plain-copy)"
printf 'x' >>capable
expect_equal 'getcap after a write' '' "$(getcap capable)"
setcap cap_net_raw+ep capable
chown 14 capable
expect_equal 'getcap after chown' '' "$(getcap capable)"
setcap cap_net_raw+ep capable
truncate -s -1 capable
expect_equal 'getcap after truncate' '' "$(getcap capable)"

# A running program cannot be written, and can be removed.
cp "$(realpath /usr/bin/sleep)" running
./running 60 &
children+=($!)
# shellcheck disable=SC2016
await 20 'the program never started' bash -c '[[ $(readlink "/proc/$1/exe") == "$2" ]]' . "$!" "$work/running"
expect_failure 'writing a running program' 'Text file busy' bash -c 'printf x >>running'
rm running
kill "${children[0]}"
wait "${children[0]}" || true
children=()

# A fifo and a socket between processes.
mkfifo fifo
(for i in 1 2 3; do printf 'line %d\n' "$i"; done >fifo) &
children+=($!)
expect_equal 'through a fifo' $'line 1\nline 2\nline 3' "$(timeout 20 cat fifo)"
wait "${children[0]}"
children=()
cat >"$scratch/sockets.py" <<'END'
import os, socket, stat, subprocess, sys

for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind("socket")
    server.listen()
    assert stat.S_ISSOCK(os.stat("socket").st_mode)
    client = (
        "import socket, os, sys; s = socket.socket(socket.AF_UNIX, %d); s.settimeout(20); s.connect('moved');"
        " s.send(b'hello'); m, fds, *_ = socket.recv_fds(s, 100, 1); assert m == b'take';"
        " os.write(fds[0], b'written by the other')" % kind
    )
    os.rename("socket", "moved")  # the name may change
    process = subprocess.Popen([sys.executable, "-c", client])
    server.settimeout(20)
    connection, _ = server.accept()
    assert connection.recv(100) == b"hello"
    fd = os.open("passed", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    socket.send_fds(connection, [b"take"], [fd])
    assert process.wait(20) == 0
    assert os.pread(fd, 100, 0) == b"written by the other"
    os.close(fd)
    connection.close()
    server.close()
    try:
        socket.socket(socket.AF_UNIX, kind).connect("moved")
        sys.exit("connected to a socket that nobody serves")
    except ConnectionRefusedError:
        pass
    os.unlink("moved")
END
quietly 60 /usr/bin/python3 "$scratch/sockets.py"
finish
