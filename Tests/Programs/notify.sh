#!/bin/bash
# Proves that inotify reports on the mount what is done to it there, attributes (as IN_ATTRIB) included.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need inotifywait inotify-tools
cd "$work"
mkdir watched
: >watched/file
inotifywait --monitor --quiet --format '%e %f' --event attrib,modify,create,delete,moved_to,close_write \
  watched >"$scratch/events" 2>"$scratch/inotify.log" &
children+=($!)
# inotifywait says nothing when it is quiet and ready, so it is shown a sign until it sees one.
# shellcheck disable=SC2016 # the inner shell expands it
await 20 'inotifywait never began to watch' bash -c 'touch watched/ready; grep -q "CREATE ready" "$1" ||
  { rm -f watched/ready; exit 1; }' . "$scratch/events"

expect_event() {
  await 20 "no event: $1" grep -qx "$1" "$scratch/events"
}
# Each as soon as the one before was seen, so that equal events cannot be merged.
lines() { grep -cx 'ATTRIB file' "$scratch/events" || true; }
expect_attrib() {
  local before what=$1
  before=$(lines)
  shift
  "$@"
  # shellcheck disable=SC2016
  await 20 "no ATTRIB event after: $what" bash -c '(($(grep -cx "ATTRIB file" "$1") > $2))' . "$scratch/events" "$before"
}
expect_attrib 'set' setfattr -n user.a -v 1 watched/file
expect_attrib 'replace' setfattr -n user.a -v 2 watched/file
expect_attrib 'remove' setfattr -x user.a watched/file
expect_attrib 'trusted' setfattr -n trusted.a -v 1 watched/file
expect_attrib 'chmod' chmod 600 watched/file
expect_attrib 'chown' chown 1:1 watched/file
before=$(lines)
getfattr -d -m - watched/file >/dev/null
setfattr -x user.missing watched/file 2>/dev/null || true
printf 'x' >watched/created
expect_event 'CREATE created'
expect_event 'MODIFY created'
expect_event 'CLOSE_WRITE,CLOSE created'
expect_equal 'ATTRIB events of calls that change nothing' "$before" "$(lines)"
mv watched/created watched/moved
expect_event 'MOVED_TO moved'
ln watched/moved watched/linked
expect_event 'CREATE linked'
rm watched/moved
expect_event 'DELETE moved'
mkdir watched/directory
expect_event 'CREATE,ISDIR directory'
finish
