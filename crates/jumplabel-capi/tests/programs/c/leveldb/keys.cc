#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "db/keys.h"

#include <cstdio>
#include <cstdlib>

DEFINE_STATIC_KEY_FALSE(leveldb_assertions);
DEFINE_STATIC_KEY_TRUE(leveldb_log);
RECORD_STATIC_KEY(leveldb_assertions, "leveldb.assertions");
RECORD_STATIC_KEY(leveldb_log, "leveldb.log");
JUMPLABEL_STARTUP();

namespace leveldb {
void AssertionFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}
}  // namespace leveldb

#include "db/flipping.c"
