#!/bin/bash
# Proves that the test suite of Go's attribute module github.com/pkg/xattr passes on the mount.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need go golang-go
source=/usr/share/gocode/src/github.com/pkg/xattr
[[ -f $source/xattr_test.go ]] ||
  fail "install Debian's package golang-github-pkg-xattr-dev (Scripts/setup test)"
mkdir "$work/tmp"
# Compiled elsewhere: the mount is for the test's files, not for Go's.
export GOPATH=/usr/share/gocode GO111MODULE=off GOFLAGS='' GOCACHE=$scratch/cache GOTMPDIR=$scratch HOME=$scratch
cd "$source"
quietly 300 go test -c -o "$scratch/xattr.test" .
cd "$scratch"
quietly 60 env TMPDIR="$work/tmp" "$scratch/xattr.test" -test.v
grep -q '^PASS$' "$scratch/log" || fail 'the tests did not pass'
if grep -q -e '--- SKIP' "$scratch/log"; then
  fail "skipped: $(grep -e '--- SKIP' "$scratch/log" | head -n 1)"
fi
(($(grep -c -e '^--- PASS' "$scratch/log") >= 5)) || fail 'fewer than five tests ran'
# The tests make their files where TMPDIR says, and fail where that has no room for them.
expect_failure 'the tests without a directory' 'no such file' \
  env TMPDIR="$work/missing" "$scratch/xattr.test"
finish
