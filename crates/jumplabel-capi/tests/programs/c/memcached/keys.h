/* Keys of memcached: its verbosity, whether it counts by prefix, and whether a client watches its log. */
#ifndef KEYS_H
#define KEYS_H

#include "jumplabel-optional.h"

/* For each key: its name, and when it must be on. */
#define KEYS_OF_MEMCACHED(KEY)                                                                                         \
	KEY(verbose_0, settings.verbose > 0)                                                                           \
	KEY(verbose_1, settings.verbose > 1)                                                                           \
	KEY(verbose_2, settings.verbose > 2)                                                                           \
	KEY(detail, settings.detail_enabled)                                                                           \
	KEY(watchers, keys_watchers)

#define KEYS_DECLARE(name, condition) DECLARE_STATIC_KEY_FALSE(uses_##name);
KEYS_OF_MEMCACHED(KEYS_DECLARE)

#define USES(name, ...) (static_branch_unlikely(&uses_##name) && (__VA_ARGS__))

/* Set when a client watches for the first time. */
extern int keys_watchers;
/* Turns on the keys of features that are in use. Called after each change of these. */
void keys_follow(void);

#endif
