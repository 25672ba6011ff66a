#!/bin/bash
# Proves that CPython's own tests pass with their files on the mount: test_os with its
# ExtendedAttributeTests, test_shutil, which copies attributes, and the others that are about files.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
python=/usr/bin/python3.11
need "$python" python3.11
[[ -f /usr/lib/python3.11/test/test_os.py ]] ||
  fail "CPython's tests are missing; install Debian's package libpython3.11-testsuite (Scripts/setup test)"
mkdir "$work/tmp"
export TMPDIR=$work/tmp
cd "$work"
# Tests that read the environment must not see the caller's.
regrtest() {
  quietly "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$work" LC_ALL=C.UTF-8 TMPDIR="$TMPDIR" \
    "$python" -m test --tempdir "$work" "${@:2}"
}

# The tests of attributes skip themselves where there are none: each must have run and be ok.
regrtest 60 -v test_os --match ExtendedAttributeTests
for test in test_simple test_lpath test_fds; do
  grep -q "^$test .*ExtendedAttributeTests.* ok$" "$scratch/log" || fail "ExtendedAttributeTests.$test did not run"
done
regrtest 60 -v test_shutil --match '*xattr*'
for test in test_copyxattr test_copyxattr_symlinks; do
  grep -q "^$test .* ok$" "$scratch/log" || fail "test_shutil's $test did not run"
done

# A module that cannot run at all (a missing package) is no success. A hole that was read takes room on ramfs, natively
# too: what counts the room of sparse files after reading them is left out.
regrtest 600 --fail-env-changed --ignore '*.GNUReadTest.test_sparse_file_*' test_os test_shutil test_posix test_pathlib test_tempfile test_glob test_fcntl test_mmap \
  test_file test_fileio test_bufio test_filecmp test_fileinput test_genericpath test_posixpath test_stat \
  test_tarfile test_zipfile test_zipapp test_zipimport test_mailbox test_shelve test_dbm_dumb test_linecache \
  test_import test_unicode_file test_unicode_file_functions test_gzip test_configparser
expect_equal 'modules that ran' 'All 29 tests OK.' "$(grep -o '^All [0-9]* tests OK\.' "$scratch/log")"
finish
