#!/bin/bash
# Proves that a file on the mount holds what a model in memory holds, after thousands of random reads,
# writes, maps, truncations, allocations, holes, copies and reopenings. Seeds are fixed; RANDOM_IO_SEED=N
# adds one of your own.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need /usr/bin/python3 python3
here=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")")
for seed in 1 2 3 4 ${RANDOM_IO_SEED:-}; do
  quietly 120 /usr/bin/python3 "$here/random-io.py" "$work/file" "$seed" 3000
  grep -q "^seed $seed: 3000 operations" "$scratch/log" || fail "seed $seed did not finish"
done
# Two at once, each on its own file.
for seed in 11 12; do
  timeout 120 /usr/bin/python3 "$here/random-io.py" "$work/file$seed" "$seed" 3000 >"$scratch/log$seed" 2>&1 &
  children+=($!)
done
for child in "${children[@]}"; do
  wait "$child" || fail "$(tail -qn 1 "$scratch/log11" "$scratch/log12" | paste -s -d ';')"
done
children=()
finish
