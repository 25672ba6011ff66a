#!/bin/bash
# Proves that stress-ng's attribute stressor finds no error on the mount, and that a few of its other file
# stressors verify what they wrote. Bounded by operations, not by time.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need stress-ng stress-ng
stress() {
  quietly 120 stress-ng --temp-path "$work" --verify --no-rand-seed "$@"
  if grep -Eq 'fail:|error:|skipped|unsuccessful' "$scratch/log"; then
    fail "stress-ng ${*:1:2}: $(grep -E 'fail:|error:|skipped|unsuccessful' "$scratch/log" | head -n 1)"
  fi
  grep -q 'successful run completed' "$scratch/log" || fail "stress-ng ${*:1:2} does not report success"
}
# An operation here is some 40,000 calls on a file with 4096 attributes.
stress --xattr 2 --xattr-ops 4
stress --hdd 2 --hdd-ops 400 --hdd-bytes 16m
stress --rename 2 --rename-ops 2000
stress --link 2 --link-ops 2
stress --symlink 2 --symlink-ops 2
stress --dentry 2 --dentry-ops 2000
stress --flock 4 --flock-ops 2000
stress --fallocate 2 --fallocate-ops 50 --fallocate-bytes 8m
stress --utime 2 --utime-ops 2000
stress --dir 2 --dir-ops 500
# Two instances of these race for one file, and give up on native file systems too.
stress --chmod 1 --chmod-ops 500
stress --chown 2 --chown-ops 500
stress --access 2 --access-ops 500
stress --mknod 2 --mknod-ops 50
expect_equal 'what stress-ng left behind' '' "$(ls -A "$work")"
finish
