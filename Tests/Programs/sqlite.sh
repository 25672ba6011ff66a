#!/bin/bash
# Proves that SQLite in WAL mode is right on the mount, which takes shared memory maps, locks and fsync:
# concurrent writers lose nothing, readers see whole transactions only, a killed writer's open transaction is
# gone and all its committed ones are there, checkpoints empty the log. The same once more with a rollback
# journal. Debian's sqlite3 tool and CPython's module are used, both with the system's SQLite.
set -euo pipefail
# shellcheck source=common.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/common.bash"
begin "$@"
need sqlite3 sqlite3
need /usr/bin/python3 python3
cd "$work"

cat >"$scratch/worker.py" <<'END'
"""worker.py DATABASE (write N | read | hold): a process of its own on the database."""
import os, sqlite3, sys

path, role, *rest = sys.argv[1:]
db = sqlite3.connect(path, timeout=60, isolation_level=None)
if role == "write":
    writer = int(rest[0])
    for number in range(150):
        db.execute("BEGIN IMMEDIATE")
        (total,) = db.execute("SELECT total FROM account WHERE id = 1").fetchone()
        db.execute("UPDATE account SET total = ? WHERE id = 1", (total + 1,))
        db.execute("UPDATE account SET total = ? WHERE id = 2", (-total - 1,))
        db.execute("INSERT INTO entry VALUES (?, ?, ?)", (writer, number, os.urandom(700)))
        db.execute("COMMIT")
elif role == "read":
    last = -1
    while last < int(rest[0]):
        db.execute("BEGIN")
        (one,) = db.execute("SELECT total FROM account WHERE id = 1").fetchone()
        (count,) = db.execute("SELECT count(*) FROM entry").fetchone()
        (two,) = db.execute("SELECT total FROM account WHERE id = 2").fetchone()
        db.execute("COMMIT")
        assert one == -two == count, f"half a transaction: {one} {two} {count}"
        assert one >= last, f"went back: {one} after {last}"
        last = one
elif role == "hold":
    # Commits one row at a time and tells each; then leaves a big transaction open and waits to be killed.
    for number in range(40):
        db.execute("INSERT INTO crash VALUES (?, ?)", (number, os.urandom(900)))
        print(number, flush=True)
    db.execute("PRAGMA cache_size = 10")
    db.execute("PRAGMA cache_spill = 1")
    db.execute("BEGIN IMMEDIATE")
    for number in range(1000, 3000):
        db.execute("INSERT INTO crash VALUES (?, ?)", (number, os.urandom(900)))
    print("open", flush=True)
    sys.stdin.read()
END
worker() { exec timeout 120 /usr/bin/python3 "$scratch/worker.py" "$@"; }
sql() { timeout 60 sqlite3 -cmd '.timeout 60000' "$@"; }

for journal in wal delete; do
  database=$work/$journal.db
  expect_equal "journal mode" "$journal" "$(sql "$database" "
    PRAGMA journal_mode = $journal;
    CREATE TABLE account(id INTEGER PRIMARY KEY, total INTEGER);
    INSERT INTO account VALUES (1, 0), (2, 0);
    CREATE TABLE entry(writer, number, filling BLOB, PRIMARY KEY(writer, number));
    CREATE TABLE crash(number INTEGER PRIMARY KEY, filling BLOB);")"

  # Four writers and two readers at once.
  children=()
  for writer in 1 2 3 4; do
    worker "$database" write "$writer" 2>"$scratch/writer$writer" &
    children+=($!)
  done
  for reader in 1 2; do
    worker "$database" read 600 2>"$scratch/reader$reader" &
    children+=($!)
  done
  for child in "${children[@]}"; do
    wait "$child" || fail "$journal: $(tail -qn 1 "$scratch"/writer? "$scratch"/reader? | head -n 1)"
  done
  children=()
  expect_equal "$journal: what four writers counted" '600|-600|600' "$(sql "$database" \
    'SELECT a.total, b.total, (SELECT count(*) FROM entry) FROM account a, account b WHERE a.id = 1 AND b.id = 2')"
  expect_equal "$journal: integrity" ok "$(sql "$database" 'PRAGMA integrity_check')"

  # A writer killed in the midst of a transaction that has already spilled to disk.
  mkfifo "$scratch/stdin"
  /usr/bin/python3 "$scratch/worker.py" "$database" hold <"$scratch/stdin" >"$scratch/told" &
  holder=$!
  children+=("$holder")
  exec 9>"$scratch/stdin"
  await 60 "$journal: the writer to be killed never got there" grep -qx open "$scratch/told"
  [[ $journal == delete ]] || [[ -s $database-wal ]] || fail 'the writer left no write-ahead log'
  kill -KILL "$holder"
  wait "$holder" 2>/dev/null || true
  exec 9>&-
  children=()
  rm "$scratch/stdin"
  expect_equal "$journal: rows after the kill" '40|39' "$(sql "$database" 'SELECT count(*), max(number) FROM crash')"
  expect_equal "$journal: integrity after the kill" ok "$(sql "$database" 'PRAGMA integrity_check')"

  # What the tool dumps restores to the same dump.
  sql "$database" .dump >"$scratch/dump"
  sql "$work/$journal-restored.db" <"$scratch/dump"
  sql "$work/$journal-restored.db" .dump >"$scratch/restored"
  expect_same "$journal: the restored dump differs" "$scratch/dump" "$scratch/restored"
  sql "$database" "VACUUM INTO '$work/$journal-vacuumed.db'"
  expect_equal "$journal: integrity of the vacuumed copy" ok "$(sql "$work/$journal-vacuumed.db" 'PRAGMA integrity_check')"
done

sql wal.db 'INSERT INTO crash VALUES (5000, 1); PRAGMA wal_checkpoint(TRUNCATE);' >"$scratch/log"
expect_equal 'wal_checkpoint(TRUNCATE)' '0|0|0' "$(<"$scratch/log")"
[[ ! -e wal.db-wal && ! -e wal.db-shm ]] || fail 'the last connection left the log or its index behind'
sql wal.db 'PRAGMA mmap_size = 100000000; SELECT count(*) FROM entry' >"$scratch/log"
expect_equal 'through a memory map' 600 "$(tail -n 1 "$scratch/log")"
finish
