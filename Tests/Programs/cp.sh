#!/bin/bash
# Proves that cp -a copies a tree with its attributes, within the mount and between it and another file
# system both ways, and that install and cp without -a do not bring attributes along.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin_pair "$@"
need getfattr attr
need install coreutils

# same COPY: the copy has the attributes, contents, owners, modes and times of the tree that was planted.
same() {
  dump "$1" "$scratch/actual.dump"
  expect_same "attributes after: $2" "$scratch/expected.dump" "$scratch/actual.dump"
  describe "$1" "$scratch/actual.stat"
  expect_same "files after: $2" "$scratch/expected.stat" "$scratch/actual.stat"
}

plant "$work/tree"
dump "$work/tree" "$scratch/expected.dump"
describe "$work/tree" "$scratch/expected.stat"
[[ -s $scratch/expected.dump ]] || fail 'the planted tree has no attributes'

cp -a "$work/tree" "$work/copy"
same "$work/copy" 'cp -a within the mount'
cp -a "$work/tree" "$other/out"
same "$other/out" 'cp -a out of the mount'
cp -a "$other/out" "$work/back"
same "$work/back" 'cp -a into the mount'

# --preserve=xattr alone says so when it cannot; -a keeps quiet about that.
cp -R --preserve=xattr,links,mode,ownership,timestamps "$work/tree" "$other/xattr-out"
same "$other/xattr-out" 'cp --preserve=xattr out of the mount'
cp -R --preserve=xattr,links,mode,ownership,timestamps "$other/xattr-out" "$work/xattr-back"
same "$work/xattr-back" 'cp --preserve=xattr into the mount'

# Copies that must not carry attributes.
cp "$work/tree/plain" "$work/bare"
expect_equal 'attributes after a plain cp' '' "$(getfattr -m - "$work/bare")"
install -m 640 -o 12 "$work/tree/plain" "$work/installed"
expect_equal 'attributes after install' '' "$(getfattr -m - "$work/installed")"
expect_equal 'mode and owner after install' '640 12' "$(stat -c '%a %u' "$work/installed")"
install --preserve-timestamps -d "$work/made/by/install"
[[ -d $work/made/by/install ]] || fail 'install -d made no directory'

# Copying over a file keeps that file and its own attributes, as it keeps its inode.
: >"$work/target"
setfattr -n user.mine -v kept "$work/target"
inode=$(stat -c %i "$work/target")
cp "$work/tree/plain" "$work/target"
expect_equal 'inode of a file copied over' "$inode" "$(stat -c %i "$work/target")"
expect_equal 'attribute of a file copied over' kept "$(getfattr --absolute-names --only-values -n user.mine "$work/target")"
# --remove-destination makes a new one.
cp --remove-destination "$work/tree/plain" "$work/target"
expect_equal 'attributes of a file that was replaced' '' "$(getfattr -m - "$work/target")"
# Hard and symbolic copies.
cp -l "$work/tree/plain" "$work/hard"
expect_equal 'inode of cp -l' "$(stat -c %i "$work/tree/plain")" "$(stat -c %i "$work/hard")"
expect_equal 'attribute through cp -l' 'some text' \
  "$(getfattr --absolute-names --only-values -n user.text "$work/hard")"
cp -s "$work/tree/plain" "$work/symbolic"
expect_equal 'attribute through cp -s' 'some text' \
  "$(getfattr --absolute-names --only-values -n user.text "$work/symbolic")"
rm "$work/hard"
cp -a --sparse=always "$work/tree/directory/sparse" "$work/sparse"
cmp "$work/tree/directory/sparse" "$work/sparse"
finish
