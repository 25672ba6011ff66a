#!/bin/bash
# Proves that getfattr, setfattr and attr do on the mount what their manuals say: set, get, list, replace,
# remove; values that are empty, binary and 64 KiB long; odd names; name lists near 64 KiB; every kind of
# object; and that --dump and --restore bring back a whole tree exactly.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need getfattr attr
need attr attr
cd "$work"

value() { getfattr --absolute-names --only-values --name="$2" -- "$1"; }
names() { { getfattr --absolute-names --no-dereference --match=- -- "$1" | grep -a '^[a-z]*\.' || true; } | sort; }

# One file, one attribute.
printf 'data' >file
expect_equal 'list of a fresh file' '' "$(names file)"
setfattr -n user.a -v one file
expect_equal 'value' one "$(value file user.a)"
setfattr -n user.a -v 'two, longer' file
expect_equal 'replaced value' 'two, longer' "$(value file user.a)"
setfattr -n user.b -v x file
expect_equal 'names' $'user.a\nuser.b' "$(names file)"
setfattr -x user.a file
expect_equal 'names after a removal' user.b "$(names file)"
expect_failure 'getting what is not there' 'No such attribute' getfattr -n user.a file
expect_failure 'removing what is not there' 'No such attribute' setfattr -x user.a file
expect_failure 'a namespace that is none' 'Operation not supported' setfattr -n weird.a -v 1 file
expect_failure 'a name without a namespace' 'Operation not supported' setfattr -n weird -v 1 file
expect_failure 'a bare namespace' 'Invalid argument' setfattr -n user. -v 1 file
expect_failure 'user.* on a symbolic link' 'Operation not permitted' \
  bash -c 'ln -s file user-link && setfattr -h -n user.a -v 1 user-link'
expect_equal 'content' data "$(<file)"

# How values are printed. The five lines are what getfattr is documented to print.
cat >"$scratch/expected" <<'END'
# file: printed
user.binary=0sAP8=
user.empty=""
user.quoted="a\"b\\c"
user.sp ace\075x="1"
user.text="plain"

END
: >printed
setfattr -n user.text -v plain printed
setfattr -n user.binary -v 0x00ff printed
setfattr -n user.quoted -v '"a\"b\\c"' printed
setfattr -n user.empty printed
setfattr -n 'user.sp ace=x' -v 1 printed
getfattr -d printed | LC_ALL=C sort -s -k 1,1 | sed '/^$/d' >"$scratch/actual"
sed -i '/^$/d' "$scratch/expected"
expect_same 'getfattr --dump prints other values' "$scratch/expected" "$scratch/actual"

# An empty value is there, unlike a missing one.
expect_equal 'empty value' '' "$(value printed user.empty)"
names printed | grep -qx 'user.empty' || fail 'the attribute with an empty value is not listed'

# The longest value, 64 KiB of every byte, and one more. setfattr takes values from its command line, where
# one argument can be 128 KiB, so the value goes in as base64.
/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 256)' >"$scratch/longest"
: >long
setfattr -n user.longest -v "0s$(base64 -w 0 "$scratch/longest")" long
value long user.longest >"$scratch/actual"
expect_same 'a 64 KiB value came back different' "$scratch/longest" "$scratch/actual"
printf 'x' >>"$scratch/longest"
expect_failure 'a value of 64 KiB and a byte' 'Argument list too long' \
  setfattr -n user.longest -v "0s$(base64 -w 0 "$scratch/longest")" long
value long user.longest | cmp -s - "$scratch/actual" || fail 'the refused value replaced the old one'
setfattr -n user.longest -v short long
expect_equal '64 KiB replaced by little' short "$(value long user.longest)"

# The longest name has 255 bytes.
longest_name=user.$(printf '%250s' '' | tr ' ' n)
setfattr -n "$longest_name" -v 1 long
expect_equal 'longest name' 1 "$(value long "$longest_name")"
expect_failure 'a name of 256 bytes' 'Numerical result out of range' setfattr -n "${longest_name}n" -v 1 long

# Hundreds of attributes on one object; names that together near 64 KiB.
: >many
for ((i = 0; i < 300; i++)); do
  printf -v line 'user.attribute-number-%03d' "$i"
  printf '%s\n' "$line"
done >"$scratch/expected"
{
  printf '# file: many\n'
  sed 's/.*-\(...\)$/&="value \1"/' "$scratch/expected"
} >"$scratch/many.dump"
setfattr --restore="$scratch/many.dump"
names many >"$scratch/actual"
expect_same '300 names' "$scratch/expected" "$scratch/actual"
expect_equal 'one of 300' 'value 217' "$(value many user.attribute-number-217)"
while read -r line; do
  [[ $line == *[02468] ]] || printf '%s\0' "$line"
done <"$scratch/expected" | xargs -0 -I '{}' setfattr -x '{}' many
names many >"$scratch/actual"
sed -i '/[13579]$/d' "$scratch/expected"
expect_same 'names after every second one was removed' "$scratch/expected" "$scratch/actual"

: >list
/usr/bin/python3 - list <<'END' || fail 'a list of names near 64 KiB'
import os, sys
path = sys.argv[1]
names = []
while sum(len(name) + 1 for name in names) + 256 <= 65536:
    names.append("user." + f"{len(names):03d}".rjust(250, "n"))
    os.setxattr(path, names[-1], b"v")
assert sorted(os.listxattr(path)) == sorted(names), "the list is not complete"
assert len(names) == 256, len(names)
for name in names:
    assert os.getxattr(path, name) == b"v"
    os.removexattr(path, name)
assert os.listxattr(path) == []
END

# Every kind of object has trusted.*; only files and directories have user.*.
mkdir kinds
ln -s file link-to-file
mkfifo fifo
mknod character c 1 3
mknod block b 7 0
/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
for object in file kinds link-to-file fifo character block socket .; do
  setfattr -h -n trusted.kind -v "$object" "$object"
done
for object in file kinds link-to-file fifo character block socket .; do
  expect_equal "trusted.kind of $object" "$object" \
    "$(getfattr -h --absolute-names --only-values -n trusted.kind "$object")"
done
for object in link-to-file fifo character block socket; do
  expect_failure "user.* on $object" 'Operation not permitted' setfattr -h -n user.kind -v 1 "$object"
done
expect_equal 'through a link' data "$(<link-to-file)"
setfattr -x trusted.kind file
expect_failure 'the file behind the link' 'No such attribute' getfattr -n trusted.kind link-to-file
expect_equal 'the link itself' link-to-file \
  "$(getfattr -h --only-values -n trusted.kind link-to-file)"

# Another user sees user.* and not trusted.*, and may set only what is his.
chmod 755 "${work%/work}" # mktemp makes it 0700
: >hers
chmod 644 hers
setfattr -n trusted.secret -v 1 hers
setfattr -n user.open -v 1 hers
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
if as_nobody test -r "$work/hers"; then
  expect_equal 'names as nobody' $'# file: hers\nuser.open' "$(as_nobody getfattr -m - hers)"
  expect_failure 'trusted.* as nobody' 'No such attribute' as_nobody getfattr -n trusted.secret hers
  expect_failure "another's file" 'Permission denied' as_nobody setfattr -n user.mine -v 1 hers
  chown 65534 hers
  as_nobody setfattr -n user.mine -v 1 hers
  expect_failure 'trusted.* on his own' 'Operation not permitted' \
    as_nobody setfattr -n trusted.mine -v 1 hers
else
  fail "nobody cannot reach $work: the directories above it must be open to all"
fi

# An attribute's change moves ctime and not mtime.
touch -d '2001-02-03' file
before=$(stat -c '%.Z' file)
setfattr -n user.time -v 1 file
after=$(stat -c '%.Z' file)
[[ $before < $after ]] || fail "setting an attribute did not move ctime ($before, $after)"
before=$after
setfattr -x user.time file
after=$(stat -c '%.Z' file)
[[ $before < $after ]] || fail "removing an attribute did not move ctime ($before, $after)"
expect_equal mtime 981158400 "$(stat -c %Y file)"

# attr(1), the tool with the interface of IRIX.
: >irix
attr -q -s color -V blue irix
expect_equal 'attr -g' blue "$(attr -q -g color irix)"
expect_equal 'attr -l' color "$(attr -q -l irix)"
expect_equal 'as getfattr sees it' blue "$(value irix user.color)"
attr -q -r color irix
expect_equal 'attr -r' '' "$(names irix)"

# Dump, then restore onto a fresh tree of the same names.
plant tree
setfattr -n user.long -v "0s$(head -c 65536 "$scratch/longest" | base64 -w 0)" tree/directory/binary
(cd tree && getfattr -R -h -m - -d --absolute-names . >"$scratch/tree.dump")
dump tree "$scratch/expected"
(($(wc -l <"$scratch/expected") == 87)) ||
  fail "the planted tree has $(wc -l <"$scratch/expected") attributes, not 87"
mkdir fresh
cp -a --no-preserve=xattr tree/. fresh
dump fresh "$scratch/actual"
expect_equal 'attributes of the fresh tree' '' "$(<"$scratch/actual")"
(cd fresh && setfattr -h --restore="$scratch/tree.dump")
dump fresh "$scratch/actual"
expect_same 'the restored dump differs' "$scratch/expected" "$scratch/actual"
(cd fresh && getfattr -R -h -m - -d --absolute-names . >"$scratch/fresh.dump")
expect_equal 'objects in the dumps' "$(grep -ac '^# file' "$scratch/tree.dump")" \
  "$(grep -ac '^# file' "$scratch/fresh.dump")"

# Moving, replacing and removing: an attribute goes with its object and ends with it.
: >one
: >two
ln one one-too
setfattr -n user.who -v one one
setfattr -n user.who -v two two
expect_equal 'through the other link' one "$(value one-too user.who)"
mv two one
expect_equal 'after a rename over it' two "$(value one user.who)"
expect_equal 'the object that lost a name' one "$(value one-too user.who)"
rm one-too
: >one-too
expect_equal 'a new object of an old name' '' "$(names one-too)"
finish
