// Keys of leveldb: assertions that stay in the release build, and the info log.
#ifndef STORAGE_LEVELDB_DB_KEYS_H_
#define STORAGE_LEVELDB_DB_KEYS_H_

#include "jumplabel-optional.h"

DECLARE_STATIC_KEY_FALSE(leveldb_assertions);
DECLARE_STATIC_KEY_TRUE(leveldb_log);

namespace leveldb {
[[noreturn]] void AssertionFailed(const char* condition, const char* file, int line);
}

#define KEYED_ASSERT(condition)                                                          \
  (static_branch_unlikely(&leveldb_assertions) && !(condition)                           \
       ? ::leveldb::AssertionFailed(#condition, __FILE__, __LINE__)                      \
       : (void)0)

#define KEYED_LOG(...)                                                                   \
  do {                                                                                   \
    if (static_branch_likely(&leveldb_log)) Log(__VA_ARGS__);                            \
  } while (0)

#endif
