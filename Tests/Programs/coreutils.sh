#!/bin/bash
# Proves that find, ls, du, stat, dd, sed -i, install, touch, truncate, ln, sort, split, shred and the like see
# and leave on the mount what they see and leave on another file system.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin_pair "$@"
need getfattr attr
need sed sed

# everything DIRECTORY: runs the same commands there; what they print goes to stdout.
everything() {
  cd "$1"
  chmod 755 . # mktemp and mkdir differ
  plant tree
  printf '== find\n'
  find . -printf '%p\t%y\t%m\t%u:%g\t%l\n' | sort
  find . ! -type d -printf '%p\t%n\t%s\n' | sort
  find . -empty ! -type d | sort
  find . -perm -4000 -o -perm -2000 -o -perm -1000 | sort
  find . -newermt 2001-02-03 ! -newermt 2001-02-04 | sort
  find . -links 2 -type f | sort
  find . -samefile tree/plain | sort
  find -L . -xtype l | sort
  printf '== ls\n'
  # Links and sizes of directories are the file system's own affair.
  # shellcheck disable=SC2012 # what ls prints is what is compared
  ls -lAR --time-style=full-iso --block-size=1 tree | sed '/^total/d; /^d/s/^\(\S* *\)\S* *\(\S* *\S* *\)\S*/\1- \2-/' | tr -s ' '
  # shellcheck disable=SC2012
  ls -l --quoting-style=c tree/directory/deep | sed 1d | cut -d '"' -f 2
  printf '== du, of lengths, directories left out\n'
  find tree -type f -print0 | sort -z | du --apparent-size -b --count-links --files0-from=-
  printf '== stat\n'
  find . ! -type d -print0 | sort -z | xargs -0 stat -c '%N %F %a %h %u %g %s %t,%T %y'
  find . -type d -print0 | sort -z | xargs -0 stat -c '%N %F %a %u %g'
  printf '== dd\n'
  dd if=tree/directory/numbers of=copied bs=1000 conv=fsync status=none
  cmp tree/directory/numbers copied
  dd if=/dev/zero of=copied bs=1 count=5 seek=100 conv=notrunc,fdatasync status=none
  dd if=tree/directory/numbers of=copied bs=7 skip=3 count=9 oflag=append conv=notrunc status=none
  dd if=copied of=sparse bs=4096 seek=50 conv=sparse status=none
  sha256sum copied sparse
  printf '== sed -i, which writes a new file and renames it over\n'
  printf 'one\ntwo\n' >edited
  chmod 640 edited
  chown 12:34 edited
  sed -i 's/two/three/' edited
  sed -i.bak '1d' edited
  stat -c '%n %a %u %g %s' edited edited.bak
  cat edited edited.bak
  printf '== install, ln, touch, truncate, chmod, chown, rm\n'
  install -m 4711 -o 5 -g 6 tree/directory/script installed
  ln installed installed-too
  ln -sfn tree link && ln -sfn tree/plain link
  ln -f edited installed-too
  touch -d '1980-01-02 03:04:05.5' early
  touch -d '2037-01-02 03:04:05.25' late
  touch -r late -d '+1 hour' later
  touch -h -d '2005-05-05' link
  truncate -s 1234567 long && truncate -s -567 long && truncate -s %4096 long
  stat -c '%N %F %a %h %u %g %s' installed installed-too edited long
  stat -c '%N %F %s %y' link early late later
  chmod -R u+rwX,go-rwx tree/directory && chown -R 7:8 tree/directory
  chmod u+s,g+s long && stat -c %a long && chown 9 long && stat -c %a long
  find tree/directory -printf '%p %m %U:%G\n' | sort
  rm -rf tree/directory/deep
  mkdir -p a/b/c && rmdir -p a/b/c
  mkdir -m 1770 sticky && stat -c %a sticky
  mktemp -p . -d made.XXXX | wc -l
  printf '== text\n'
  seq 200000 | tac | sort -n -S 1M -T . | sha256sum
  seq 5000 | split -l 100 - part. && cat part.* | sha256sum && find . -name 'part.*' | wc -l
  csplit -s -f piece. edited.bak 2 && cat piece.*
  tee teed <edited >/dev/null && tee -a teed <edited >/dev/null && cat teed
  tail -c 10 copied | od -An -tx1
  shred -n 1 -z -u teed
  head -c 100000 /dev/zero | tr '\0' x >log && : >log && printf 'after\n' >>log && wc -c log
  sync && sync log && sync -f . && sync -d log
  (ulimit -f 10 && trap '' XFSZ && head -c 100000 /dev/zero >limited) 2>/dev/null || stat -c '%n %s' limited
  printf '== errors\n'
  for command in 'mkdir tree' 'rmdir tree' 'rm tree' 'cat tree' 'ln tree/plain link' 'mv tree tree/empty' \
    'cat nothing' 'ln -s a link' 'cat tree/plain/x' 'mkdir nothing/x' 'chmod 0 nothing' 'readlink tree/plain' \
    "touch $(printf '%256s' '' | tr ' ' n)" 'rmdir .' 'truncate -s 1 tree' 'mknod fifo2 p' 'mkfifo fifo2'; do
    # shellcheck disable=SC2086 # words are meant
    $command 2>&1 >/dev/null </dev/null || printf 'status %d\n' $?
  done
  ln -s loop1 loop2 && ln -s loop2 loop1
  cat loop1 2>&1 || true
  printf '== what is left\n'
  find . ! -path './made.*' ! -path './tree/*' -printf '%p %y %m\n' | sort
}
(everything "$other") >"$scratch/expected" 2>&1 || fail "on OTHER: $(tail -n 1 "$scratch/expected")"
(everything "$work") >"$scratch/actual" 2>&1 || fail "on DIRECTORY: $(tail -n 1 "$scratch/actual")"
(($(wc -l <"$scratch/expected") > 500)) || fail 'the commands printed less than they should'
expect_same 'the programs see something else here than on OTHER' "$scratch/expected" "$scratch/actual"

# What sed -i leaves is a new file: without attributes, as everywhere.
cd "$work"
: >edit
setfattr -n user.a -v 1 edit
printf 'x\n' >>edit
expect_equal 'attribute after an append' 1 "$(getfattr --only-values -n user.a edit)"
before=$(stat -c %i edit)
sed -i s/x/y/ edit
[[ $(stat -c %i edit) != "$before" ]] || fail 'sed -i kept the inode'
expect_equal 'attributes after sed -i' '' "$(getfattr -m - edit)"
# The inode numbers of a listing are those of stat.
find . -printf '%i %p\n' | sort -k 2 >"$scratch/find"
find . -print0 | xargs -0 stat -c '%i %n' | sort -k 2 >"$scratch/stat"
expect_same 'inode numbers of readdir and stat' "$scratch/stat" "$scratch/find"
df --output=target . >/dev/null || fail 'df fails'
stat -f -c '%l %S' . | grep -q '^255 [1-9]' || fail "stat -f says $(stat -f -c 'namelen %l, block size %S' .)"
finish
