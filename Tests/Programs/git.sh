#!/bin/bash
# Proves that git works on the mount with a tree of thousands of files: add, commit, branches, checkout,
# merge, clone, stash, gc, fsck; that a status finds nothing afterwards; and that what is checked out is what
# was committed.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need git git
need getfattr attr
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null HOME=$scratch
export GIT_AUTHOR_NAME=tester GIT_AUTHOR_EMAIL=tester@localhost GIT_AUTHOR_DATE='2001-02-03T04:05:06Z'
export GIT_COMMITTER_NAME=tester GIT_COMMITTER_EMAIL=tester@localhost GIT_COMMITTER_DATE='2001-02-03T04:05:06Z'
git() { timeout 300 git "$@"; }
clean_status() { expect_equal "git status $1" '' "$(git status --porcelain)"; }

# Debian's Python library is a real tree that every Debian machine with these tests has. The digests of git
# objects depend on content and modes alone, so the tree's digest has to be the same as on any other disk.
source=/usr/lib/python3.11
[[ -d $source/test ]] || fail "no $source/test; install Debian's package libpython3.11-testsuite (Scripts/setup test)"
mkdir "$work/tree"
(cd "$source" && find . -type f -name '*.py' -print0 | sort -z | sed -z -n 1,2500p | tar --null -T - -cf -) |
  tar -C "$work/tree" -xf -
cd "$work/tree"
ln -s os.py link
chmod 755 os.py
files=$(find . ! -type d | wc -l)
((files > 1000)) || fail "$source has only $files files"

quietly 60 git init --initial-branch=main .
quietly 300 git add --all
quietly 300 git commit --message=first
clean_status 'after the commit'
expect_equal 'files in the commit' "$files" "$(git ls-tree -r HEAD | wc -l)"
git --git-dir="$scratch/model.git" init --quiet
git --git-dir="$scratch/model.git" --work-tree=. add --all
expect_equal 'digest of the tree, with the objects elsewhere' \
  "$(git --git-dir="$scratch/model.git" write-tree)" "$(git write-tree)"
rm -rf "$scratch/model.git"

# A branch that changes, adds, moves, removes and turns files into links and directories.
setfattr -n user.note -v kept string.py
quietly 60 git checkout -b changed
printf '# changed\n' >>os.py
mkdir -p new/deep
printf 'new\n' >new/deep/file
git mv shutil.py moved.py
git rm --quiet tarfile.py
rm glob.py && ln -s moved.py glob.py
rm link && mkdir link && printf 'in\n' >link/in
chmod 755 stat.py
quietly 60 git add --all
quietly 60 git commit --message=second
clean_status 'on the branch'

for _ in 1 2 3; do
  quietly 60 git checkout main
  clean_status 'on main'
  [[ -L link && -f shutil.py && -f glob.py && ! -e new ]] || fail 'main was not checked out'
  quietly 60 git checkout changed
  clean_status 'on changed'
  [[ -d link && -f moved.py && -L glob.py && -f new/deep/file ]] || fail 'the branch was not checked out'
done
expect_equal 'attribute of a file that git did not touch' kept "$(getfattr --only-values -n user.note string.py)"

# Changes on both sides, merged; a stash; a reset.
quietly 60 git checkout main
printf '# on main\n' >>string.py
quietly 60 git commit --all --message=third
quietly 60 git merge --no-edit changed
clean_status 'after the merge'
expect_equal 'last line after the merge' '# on main' "$(tail -n 1 string.py)"
expect_equal 'last line from the branch' '# changed' "$(tail -n 1 os.py)"
printf 'dirty\n' >>heapq.py
quietly 60 git stash
clean_status 'after the stash'
quietly 60 git stash pop
expect_equal 'status after stash pop' ' M heapq.py' "$(git status --porcelain)"
quietly 60 git reset --hard
clean_status 'after the reset'

# Everything packed, checked, and checked out again from nothing.
quietly 300 git gc --aggressive --prune=now
quietly 300 git fsck --strict --full
expect_equal 'loose objects after gc' 0 "$(git count-objects | cut -d ' ' -f 1)"
clean_status 'after gc'
find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf -- {} +
quietly 60 git checkout -- .
clean_status 'after a new checkout'
git update-index --really-refresh >"$scratch/log" || fail 'update-index --refresh finds changes'

# Clones: by hard links, and through the transport.
quietly 60 git clone --local . "$work/local"
(($(find "$work/local/.git/objects" -type f -links +1 | wc -l) > 0)) || fail 'the local clone has no hard links'
quietly 60 git clone --no-local . "$work/remote"
diff -r --no-dereference --exclude=.git . "$work/local" || fail 'the local clone differs'
diff -r --no-dereference --exclude=.git . "$work/remote" || fail 'the clone differs'
cd "$work/remote"
printf 'from the clone\n' >from-the-clone
git add from-the-clone
quietly 60 git commit --message=fourth
quietly 60 git push origin HEAD:refs/heads/pushed
expect_equal 'what was pushed' "$(git rev-parse HEAD)" "$(git -C "$work/tree" rev-parse pushed)"
quietly 60 git -C "$work/tree" fsck --strict --full
quietly 60 git -C "$work/tree" worktree add "$work/worktree" pushed
expect_equal 'file of the worktree' 'from the clone' "$(<"$work/worktree/from-the-clone")"
finish
