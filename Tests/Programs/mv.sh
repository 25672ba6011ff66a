#!/bin/bash
# Proves that mv between the mount and another file system, both ways, brings every attribute along and
# leaves nothing behind, and that mv within the mount is a rename: the same inodes, the same attributes.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin_pair "$@"
need getfattr attr

same() {
  dump "$1" "$scratch/actual.dump"
  expect_same "attributes after: $2" "$scratch/expected.dump" "$scratch/actual.dump"
  describe "$1" "$scratch/actual.stat"
  expect_same "files after: $2" "$scratch/expected.stat" "$scratch/actual.stat"
}
gone() { [[ ! -e $1 ]] || fail "still there after mv: $1"; }

plant "$work/tree"
dump "$work/tree" "$scratch/expected.dump"
describe "$work/tree" "$scratch/expected.stat"
[[ -s $scratch/expected.dump ]] || fail 'the planted tree has no attributes'

# Within: a rename.
(cd "$work/tree" && find . -printf '%i %p\n' | sort) >"$scratch/inodes"
mv "$work/tree" "$work/renamed"
gone "$work/tree"
same "$work/renamed" 'mv within the mount'
(cd "$work/renamed" && find . -printf '%i %p\n' | sort) >"$scratch/inodes.after"
expect_same 'inode numbers after a rename' "$scratch/inodes" "$scratch/inodes.after"

# Out and back in.
mv "$work/renamed" "$other/out"
gone "$work/renamed"
same "$other/out" 'mv out of the mount'
mv "$other/out" "$work/back"
gone "$other/out"
same "$work/back" 'mv into the mount'

# A single file moved over another: the target's attributes are gone with it.
: >"$work/target"
setfattr -n user.target -v old "$work/target"
: >"$other/arrives"
setfattr -n user.arrives -v new "$other/arrives"
mv "$other/arrives" "$work/target"
gone "$other/arrives"
expect_equal 'attributes of a target moved over' 'user.arrives="new"' \
  "$(getfattr --absolute-names -d -m - "$work/target" | sed '/^#/d; /^$/d')"

# The same within the mount, and mv --no-clobber and --backup beside it.
: >"$work/source"
setfattr -n user.source -v 1 "$work/source"
mv "$work/source" "$work/target"
expect_equal 'attributes after a rename over' 'user.source="1"' \
  "$(getfattr --absolute-names -d -m - "$work/target" | sed '/^#/d; /^$/d')"
: >"$work/source"
mv --no-clobber "$work/source" "$work/target" || true
expect_equal 'attributes after mv --no-clobber' 'user.source="1"' \
  "$(getfattr --absolute-names -d -m - "$work/target" | sed '/^#/d; /^$/d')"
mv --backup=simple "$work/source" "$work/target"
expect_equal 'attributes of the backup' 'user.source="1"' \
  "$(getfattr --absolute-names -d -m - "$work/target~" | sed '/^#/d; /^$/d')"
expect_equal 'attributes of what was moved' '' "$(getfattr --absolute-names -d -m - "$work/target")"
finish
