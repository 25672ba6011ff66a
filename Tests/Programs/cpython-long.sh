#!/bin/bash
# Proves that those of CPython's own tests that take longer pass with their files on the mount: io,
# subprocess, logging, compression, virtual environments.
# minutes
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
python=/usr/bin/python3.11
need "$python" python3.11
[[ -f /usr/lib/python3.11/test/test_io.py ]] ||
  fail "CPython's tests are missing; install Debian's package libpython3.11-testsuite (Scripts/setup test)"
mkdir "$work/tmp"
quietly 900 env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$work" LC_ALL=C.UTF-8 TMPDIR="$work/tmp" \
  "$python" -m test --tempdir "$work" --fail-env-changed \
  test_io test_subprocess test_logging test_bz2 test_lzma test_venv
expect_equal 'modules that ran' 'All 6 tests OK.' "$(grep -o '^All [0-9]* tests OK\.' "$scratch/log")"
finish
