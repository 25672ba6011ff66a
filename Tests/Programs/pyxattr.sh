#!/bin/bash
# Proves that the test suites of PyPI's two attribute modules, pyxattr and xattr, pass on the mount.
# Scripts/setup test has put their sources into the cache.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
python=/usr/bin/python3.11
need "$python" python3.11
need gcc gcc
for module in pytest setuptools cffi; do
  "$python" -c "import $module" 2>/dev/null || fail "install Debian's package python3-$module (Scripts/setup test)"
done
mkdir "$work/tmp"
[[ -f /usr/include/python3.11/Python.h ]] || fail "install Debian's package python3-dev (Scripts/setup test)"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sidecarfs-tests
for sources in pyxattr-0.8.1 xattr-1.3.0; do
  [[ -f $cache/$sources.tar.gz ]] || fail "$cache/$sources.tar.gz is missing (Scripts/setup test)"
  tar -C "$scratch" -xzf "$cache/$sources.tar.gz"
done
# test_suite DIRECTORY ATLEAST VARIABLE...: in an environment that is not the caller's, without pytest's cache.
test_suite() {
  local environment=(-i PATH=/usr/bin:/bin HOME="$scratch" LC_ALL=C.UTF-8 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 "${@:3}")
  quietly 300 env "${environment[@]}" "$python" -B -m pytest -p no:cacheprovider -q -rs "$1"
  (($(sed -n 's/^\([0-9]*\) passed.*/\1/p' "$scratch/log") >= $2)) ||
    fail "fewer than $2 tests ran: $(tail -n 1 "$scratch/log")"
  # Linux itself has no user.* on symbolic links; nothing else may be left out.
  sed -i '/^SKIPPED.*FreeBSD only$/d; /^SKIPPED.*XATTRs on symlink not allowed/d' "$scratch/log"
  if grep -Eq '^(SKIPPED|XFAIL)' "$scratch/log"; then
    fail "skipped: $(grep -E '^(SKIPPED|XFAIL)' "$scratch/log" | head -n 1)"
  fi
  # Python looks elsewhere when TMPDIR will not do.
  expect_equal 'where the tests keep their files' "$work/tmp" \
    "$(env "${environment[@]}" "$python" -c 'import tempfile; print(tempfile.gettempdir())')"
}

cd "$scratch/pyxattr-0.8.1"
quietly 120 "$python" setup.py --quiet build_ext --inplace
test_suite "$PWD/tests" 100 PYTHONPATH="$PWD" TMPDIR="$work/tmp" TEST_DIR="$work/tmp"

# Debian's setuptools is older than this package wants for its metadata, which the tests do not need.
cd "$scratch/xattr-1.3.0"
quietly 120 env --chdir=xattr "$python" lib_build.py
test_suite "$PWD/tests" 15 PYTHONPATH="$PWD" TMPDIR="$work/tmp"
expect_equal 'what the tests left behind' '' "$(ls -A "$work/tmp")"
finish
