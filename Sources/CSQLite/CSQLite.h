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

/// Turns one of the switches of a connection on or off (sqlite3_db_config is variadic).
static inline int csqlite_db_config(sqlite3 *connection, int option, int value) {
  return sqlite3_db_config(connection, option, value, (int *)0);
}

#endif
