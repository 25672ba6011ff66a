# What the programs' checks share. A check begins so:
#
#     set -euo pipefail
#     # shellcheck source=common.bash
#     . "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
#     begin "$@"                 # or begin_pair "$@", which wants OTHER too
#     ...
#     finish
#
# and has then
#   $work     its own empty directory on the file system under test,
#   $other    (begin_pair) its own empty directory on the other file system,
#   $scratch  a directory outside both, for logs and expectations,
# all three removed when it ends, however it ends.
#
# The directory under test is marked with an attribute at the beginning, which must still be there at
# the end. So a check that by mistake runs on a file system without attributes fails, whatever it does.

set -o errtrace
export LC_ALL=C.UTF-8 TZ=UTC0
umask 022

name=${0##*/}
name=${name%.sh}
mark_name=user.sidecarfs-programs
work='' other='' scratch=''
children=()

# fail REASON: ends the check with one line on stderr.
fail() {
  trap - ERR
  printf '%s: %s\n' "$name" "$*" >&2
  exit 1
}

# need COMMAND PACKAGE: the check cannot do without the command.
need() {
  command -v "$1" >/dev/null || fail "$1 is missing; install Debian's package $2 (Scripts/setup test)"
}

# expect_equal WHAT EXPECTED ACTUAL
expect_equal() {
  [[ $2 == "$3" ]] || fail "$1: expected $(printf %q "${2:0:300}"), got $(printf %q "${3:0:300}")"
}

# expect_same WHAT EXPECTED ACTUAL: the two files have the same content.
expect_same() {
  if ! cmp -s "$2" "$3"; then
    diff -a "$2" "$3" | cut -c 1-200 | head -n 20 >&2 || true
    fail "$1"
  fi
}

# expect_failure WHAT PATTERN COMMAND...: the command fails and says PATTERN.
expect_failure() {
  local what=$1 pattern=$2
  shift 2
  if "$@" >"$scratch/expect_failure" 2>&1; then
    fail "$what: succeeded, expected: $pattern"
  fi
  grep -aq -e "$pattern" "$scratch/expect_failure" ||
    fail "$what: expected: $pattern, got: $(tr '\n' ' ' <"$scratch/expect_failure" | cut -c 1-300)"
}

# quietly SECONDS COMMAND...: runs the command, which must succeed in that time; shows the end of its
# output only if it does not. The output stays in $scratch/log.
quietly() {
  local seconds=$1 status=0
  shift
  timeout "$seconds" "$@" >"$scratch/log" 2>&1 </dev/null || status=$?
  ((status == 0)) && return
  tail -n 30 "$scratch/log" >&2
  ((status == 124)) && fail "not done after $seconds s: ${*:1:4}"
  fail "exit status $status: ${*:1:4} ... $(grep -av '^[[:space:]]*$' "$scratch/log" | tail -n 1 | cut -c 1-200)"
}

# await SECONDS WHAT COMMAND...: polls until the command succeeds.
await() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || fail "$what"
    sleep 0.02
  done
}

# dump DIRECTORY FILE: writes every attribute of every object below the directory, sorted.
# getfattr lists in the order in which the file system does, which is nobody's promise.
dump() {
  (cd "$1" && find . -print0 | sort -z |
    xargs -0 -r getfattr --no-dereference --absolute-names --match=- --dump --encoding=hex --) |
    awk '/^# file: / { block = $0 } NF && !/^# file: / { print block "\t" $0 }' | sort >"$2"
}

# describe DIRECTORY FILE: writes what stat says of every object below the directory, and the content's sums.
# Sizes of directories and counts of blocks are left out: they are the file system's own affair.
describe() {
  (
    cd "$1" || exit
    find . ! -type d -printf '%P\t%y\t%m\t%n\t%U:%G\t%s\t%T@\t%l\n' -o -printf '%P\t%y\t%m\t%U:%G\t%T@\n' | sort
    find . -type f -print0 | sort -z | xargs -0 -r sha256sum --
  ) >"$2"
}

# plant DIRECTORY: makes a tree with every kind of object and with attributes that any file system with
# attributes can hold (ext4: 4 KiB an object). Hard links, odd names, a sparse file and old times included.
plant() {
  local top=$1 i
  mkdir -p "$top/directory/deep/deeper" "$top/empty"
  printf 'plain\n' >"$top/plain"
  : >"$top/zero"
  head -c 300000 /usr/bin/env >"$top/directory/binary" || true
  seq 50000 >"$top/directory/numbers"
  truncate -s 3M "$top/directory/sparse"
  printf 'tail' >>"$top/directory/sparse"
  printf '#!/bin/sh\necho it runs\n' >"$top/directory/script"
  chmod 4751 "$top/directory/script"
  printf 'x' >"$top/directory/deep/"$'new\nline and  spaces'
  printf 'y' >"$top/directory/deep/"$'latin-\xe9'
  printf 'z' >"$top/directory/deep/-dash"
  for ((i = 0; i < 60; i++)); do
    printf '%d' "$i" >"$top/directory/deep/deeper/file$i"
    setfattr --name=user.number --value="$i" "$top/directory/deep/deeper/file$i"
  done
  ln "$top/plain" "$top/directory/hard link"
  ln -s ../plain "$top/directory/link"
  ln -s nowhere "$top/dangling"
  mkfifo -m 600 "$top/fifo"
  mknod "$top/device" c 1 3
  chown 12:34 "$top/zero" "$top/directory/deep"
  chmod 2775 "$top/directory/deep"
  chmod 1777 "$top/empty"

  setfattr -n user.text -v 'some text' "$top/plain"
  setfattr -n user.empty "$top/plain"
  setfattr -n user.binary -v 0x00ff0a0d00 "$top/plain"
  setfattr -n 'user.odd name="x"' -v 0s4pyT "$top/plain"
  setfattr -n $'user.\xff\xfe' -v 'not UTF-8' "$top/plain"
  setfattr -n trusted.kept -v root "$top/plain"
  setfattr -n user.long -v "0x$(printf '%2000s' '' | tr ' ' a)" "$top/directory/numbers"
  setfattr -n user.sparse -v yes "$top/directory/sparse"
  setfattr -n user.script -v yes "$top/directory/script"
  setfattr -n user.name -v newline "$top/directory/deep/"$'new\nline and  spaces'
  setfattr -n user.name -v latin "$top/directory/deep/"$'latin-\xe9'
  setfattr -n user.name -v dash "$top/directory/deep/-dash"
  setfattr -n user.directory -v deep "$top/directory/deep"
  setfattr -n user.directory -v empty "$top/empty"
  setfattr -n user.top -v top "$top"
  setfattr -n user.zero -v 0 "$top/zero"
  setfattr -h -n trusted.link -v 'of the link' "$top/directory/link"
  setfattr -h -n trusted.link -v 'of the dangling link' "$top/dangling"
  setfattr -n trusted.fifo -v fifo "$top/fifo"
  setfattr -n trusted.device -v device "$top/device"
  # (Not with bash's read: after a byte that is not UTF-8 it overlooks the NUL.)
  find "$top" -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
}

begin() {
  [[ $# == [12] && -d $1 ]] || fail "usage: $name.sh DIRECTORY [OTHER]"
  ((EUID == 0)) || fail "must run as root: it makes devices, owners and trusted attributes"
  need setfattr attr
  trap 'clean' EXIT
  trap 'exit 1' INT TERM HUP
  # A command substitution that fails makes its parent fail too; one line is enough.
  trap 'status=$?; ((BASH_SUBSHELL)) || fail "line $LINENO: exit status $status: $BASH_COMMAND"' ERR
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/sidecarfs-test-$name.XXXXXX")
  work=$(mktemp -d "$(realpath -- "$1")/$name.XXXXXX")
  setfattr --name="$mark_name" --value="$name" "$work" 2>/dev/null ||
    fail "cannot set an attribute in $1: is this the file system under test?"
  mkdir "$work/work"
  work=$work/work
}

begin_pair() {
  [[ $# == 2 && -d $2 ]] || fail "usage: $name.sh DIRECTORY OTHER (on another file system)"
  begin "$@"
  [[ $(stat -c %d "$1") != "$(stat -c %d "$2")" ]] || fail "DIRECTORY and OTHER are one file system"
  other=$(mktemp -d "$(realpath -- "$2")/$name.XXXXXX")
}

# finish: the mark is still there, and the directory can be emptied.
finish() {
  expect_equal "the mark set at the beginning" "$name" \
    "$(getfattr --absolute-names --only-values --name="$mark_name" "${work%/work}" 2>&1)"
  cd /
  rm -rf -- "${work%/work}" || fail "cannot remove $work"
  [[ ! -e ${work%/work} ]] || fail "still there after rm -rf: $work"
  work=''
}

# Runs at the end, also of a check that failed: only processes that this check started are ended.
clean() {
  local status=$? child
  trap - ERR EXIT
  cd /
  for child in "${children[@]}"; do
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  [[ -z $work ]] || rm -rf -- "${work%/work}"
  [[ -z $other ]] || rm -rf -- "$other"
  [[ -z $scratch ]] || rm -rf -- "$scratch"
  exit "$status"
}
