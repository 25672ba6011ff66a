#!/bin/bash
# Proves that an ostree repository of mode bare-user, which keeps owner, mode and attributes of what it
# stores in user.ostreemeta, works on the mount: commit, fsck, checkout, diff, a second commit, prune, pull
# into another repository; and that fsck notices when an attribute is lost.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need ostree ostree
need getfattr attr
cd "$work"
ostree() { timeout 120 ostree "$@"; }

plant tree
# ostree stores regular files, directories and symbolic links, all with names in UTF-8.
rm tree/fifo tree/device tree/directory/deep/latin-*
ostree --repo=repository init --mode=bare-user
# A file system that reports no blocks at all has no free percentage of them.
ostree --repo=repository config set core.min-free-space-percent 0
first=$(ostree --repo=repository commit --no-bindings --branch=main --subject=first --timestamp='2001-02-03 04:05:06Z' tree)
[[ $first =~ ^[0-9a-f]{64}$ ]] || fail "no commit: $first"
quietly 60 ostree --repo=repository fsck
objects=$(find repository/objects -name '*.file' | wc -l)
((objects > 60)) || fail "only $objects objects"
while IFS= read -r -d '' object; do
  [[ -L $object ]] || getfattr --absolute-names -n user.ostreemeta "$object" >/dev/null 2>&1 ||
    fail "no user.ostreemeta on $object"
done < <(find repository/objects -name '*.file' -print0)

# The digest says whether content, modes, owners and attributes were read alike: the tree, copied with
# attributes elsewhere on the mount, has the same one.
cp -a tree copy
expect_equal 'commit of a copy' "$first" \
  "$(ostree --repo=repository commit --no-bindings --branch=copy --subject=first --timestamp='2001-02-03 04:05:06Z' copy)"
setfattr -n user.text -v changed copy/plain
second=$(ostree --repo=repository commit --no-bindings --branch=copy --subject=second --timestamp='2001-02-03 04:05:06Z' copy)
[[ $second != "$first" ]] || fail 'a changed attribute makes no other commit'
expect_equal 'attributes in the commit' 1 \
  "$(ostree --repo=repository ls --xattrs copy /plain | grep -c 'user.text')"

# Checked out as user: contents and times are right. With hard links the objects are the files themselves.
ostree --repo=repository checkout --user-mode main checkout
diff -r --no-dereference tree checkout || fail 'the checkout differs'
ostree --repo=repository checkout --user-mode --require-hardlinks main linked
(($(stat -c %h linked/directory/numbers) > 1)) || fail 'no hard links in the checkout'

# A pull into another repository, and pruning what no branch holds.
ostree --repo=pulled init --mode=bare-user
ostree --repo=pulled config set core.min-free-space-percent 0
quietly 60 ostree --repo=pulled pull-local repository main
expect_equal 'the pulled commit' "$first" "$(ostree --repo=pulled rev-parse main)"
quietly 60 ostree --repo=pulled fsck
ostree --repo=repository refs --delete copy
quietly 60 ostree --repo=repository prune --refs-only --depth=0
quietly 60 ostree --repo=repository fsck
if ostree --repo=repository show "$second" >/dev/null 2>&1; then
  fail 'the pruned commit is still there'
fi

# An archive repository needs no attributes; what comes out of it must be the same commit.
ostree --repo=archive init --mode=archive
ostree --repo=archive config set core.min-free-space-percent 0
quietly 60 ostree --repo=archive pull-local pulled main
quietly 60 ostree --repo=archive fsck

# fsck is no sham: without its attribute, an object is damaged.
object=$(find pulled/objects -name '*.file' -type f | sort | sed -n 1p)
setfattr -x user.ostreemeta "$object"
if ostree --repo=pulled fsck >"$scratch/log" 2>&1; then
  fail 'fsck did not notice that an attribute was lost'
fi
finish
