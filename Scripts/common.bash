# Shared by the scripts here: where the package is, and how they speak.
# shellcheck shell=bash

package=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$package" || exit 1

say() { printf '\n==> %s\n' "$*"; }
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Runs a command as root: directly when we are, through sudo otherwise.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this needs root: become root, or install sudo"
  fi
}

# Takes away what tests have left mounted whose process is no more: their directories are called
# /tmp/sidecarfs-test-PROCESS-NUMBER. Those of another run that is under way stay.
unmount_tests() {
  local mountpoint process
  while read -r mountpoint; do
    process=${mountpoint#/tmp/sidecarfs-test-}
    process=${process%%-*}
    [[ $process =~ ^[0-9]+$ && -d /proc/$process ]] || unmount_below "$mountpoint"
  done < <(awk 'index($5, "/tmp/sidecarfs-test-") == 1 { print $5 }' /proc/self/mountinfo | tac)
}

# Takes away what is mounted below a directory, the newest mount first.
unmount_below() {
  local mountpoint
  while read -r mountpoint; do
    as_root umount "$mountpoint" 2>/dev/null || as_root umount --lazy "$mountpoint" 2>/dev/null || true
  done < <(awk -v below="$1" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | tac)
}
