// SQLite as Swift sees it, with what the importer cannot bring across: macros that cast.
#ifndef CSQLITE_H
#define CSQLITE_H

#include <sqlite3.h>

/// Binds bytes that SQLite copies before it returns (`SQLITE_TRANSIENT` does not import).
static inline int csqlite_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes,
                                         int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/// Binds text that SQLite copies before it returns.
static inline int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const char *text,
                                         int count) {
  return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

#endif
