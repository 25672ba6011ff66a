#!/bin/bash
# Proves that rsync -aHX brings a tree with its attributes into the mount and out of it, that a second run
# finds nothing to do, and that it sees and repairs a single changed, added or removed attribute.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin_pair "$@"
need getfattr attr
need rsync rsync

# Permits devices and specials; attributes of symbolic links are trusted.* and need root, which we are.
sync() { rsync -aHX --itemize-changes "$@"; }

same() {
  dump "$1" "$scratch/actual.dump"
  expect_same "attributes after: $2" "$scratch/expected.dump" "$scratch/actual.dump"
  describe "$1" "$scratch/actual.stat"
  expect_same "files after: $2" "$scratch/expected.stat" "$scratch/actual.stat"
}
# idle WHAT FROM TO: neither a run nor a dry run with checksums finds a difference.
idle() {
  expect_equal "second run, $1" '' "$(sync "$2/" "$3/")"
  expect_equal "dry run with checksums, $1" '' "$(sync -n --checksum --delete "$2/" "$3/")"
}

plant "$work/tree"
dump "$work/tree" "$scratch/expected.dump"
describe "$work/tree" "$scratch/expected.stat"
[[ -s $scratch/expected.dump ]] || fail 'the planted tree has no attributes'

mkdir "$work/near"
sync "$work/tree/" "$work/near/" >"$scratch/log"
[[ -s $scratch/log ]] || fail 'the first run itemized no changes'
same "$work/near" 'rsync within the mount'
idle 'within the mount' "$work/tree" "$work/near"

mkdir "$other/out"
sync "$work/tree/" "$other/out/" >"$scratch/log"
same "$other/out" 'rsync out of the mount'
idle 'out of the mount' "$work/tree" "$other/out"

mkdir "$work/back"
sync "$other/out/" "$work/back/" >"$scratch/log"
same "$work/back" 'rsync into the mount'
idle 'into the mount' "$other/out" "$work/back"

# One attribute changed, one added, one removed: exactly those are itemized, with an x, the first under
# both its names.
setfattr -n user.text -v 'other text' "$work/back/plain"
setfattr -n user.added -v 1 "$work/back/zero"
setfattr -x user.directory "$work/back/empty"
expect_equal 'objects with changed attributes' 'directory/hard empty/ plain zero' \
  "$(sync "$other/out/" "$work/back/" | awk '$1 ~ /x$/ { print $2 }' | sort | paste -s -d ' ')"
same "$work/back" 'rsync repaired attributes'
idle 'after the repair' "$other/out" "$work/back"

# A rename at the sender with --delete, and --fake-super, which keeps owner and mode in an attribute.
mv "$work/tree/directory/deep/deeper" "$work/tree/moved"
sync --delete "$work/tree/" "$other/out/" >"$scratch/log"
[[ ! -e $other/out/directory/deep/deeper ]] || fail 'rsync --delete left a directory'
idle 'after a move' "$work/tree" "$other/out"
mkdir "$work/fake"
sync --fake-super "$other/out/" "$work/fake/" >"$scratch/log"
getfattr --absolute-names -n user.rsync.%stat "$work/fake/device" >"$scratch/log" 2>&1 ||
  fail '--fake-super kept no attribute'
mkdir "$other/real"
sync -M--fake-super "$work/fake/" "$other/real/" >"$scratch/log" # both ends are here: the sender is fake
finish
