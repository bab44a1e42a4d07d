/* Keys of redis: the features that are in use. If a key is off, its feature is not in use, and the program does not look at the feature's data. */
#ifndef KEYS_H
#define KEYS_H

#include "jumplabel-optional.h"

/* For each key: its name, and when its feature is in use. */
#define KEYS_OF_SETTINGS(KEY)                                                                                          \
	KEY(log_debug, server.verbosity <= LL_DEBUG)                                                                   \
	KEY(log_verbose, server.verbosity <= LL_VERBOSE)                                                               \
	KEY(latency, server.latency_monitor_threshold != 0)                                                            \
	KEY(maxmemory, server.maxmemory != 0)                                                                          \
	KEY(lfu, server.maxmemory_policy & MAXMEMORY_FLAG_LFU)                                                         \
	KEY(min_replicas, server.repl_min_slaves_to_write && server.repl_min_slaves_max_lag)                           \
	KEY(child, server.child_pid != -1)                                                                             \
	KEY(loading, server.loading)                                                                                   \
	KEY(pause, server.client_pause_type != CLIENT_PAUSE_OFF)

/* Keys of features that leave something behind, and so stay in use after their first use. */
#define KEYS_OF_HISTORY(KEY)                                                                                           \
	KEY(cluster, server.cluster_enabled)                                                                           \
	KEY(io_threads, server.io_threads_num > 1)                                                                     \
	KEY(client_eviction, server.maxmemory_clients != 0)                                                            \
	KEY(events, server.notify_keyspace_events || keysModules)                                                      \
	KEY(modules, keysModules)                                                                                      \
	KEY(monitors, server.monitors && listLength(server.monitors))                                                  \
	KEY(tracking, server.tracking_clients)                                                                         \
	KEY(replica, server.masterhost != NULL)                                                                        \
	KEY(replicas, server.slaves && listLength(server.slaves))                                                      \
	KEY(propagation, server.aof_state != AOF_OFF || server.repl_backlog || (server.slaves && listLength(server.slaves)))

#define KEYS_DECLARE(name, condition) DECLARE_STATIC_KEY_FALSE(uses_##name);
KEYS_OF_SETTINGS(KEYS_DECLARE)
KEYS_OF_HISTORY(KEYS_DECLARE)

/* True if a feature is in use, and a condition holds. */
#define USES(name, ...) (static_branch_unlikely(&uses_##name) && (__VA_ARGS__))

/* True if a message of this level is dropped, as far as keys can tell. */
#define KEYS_DROP(level, at, name) (((level) & 0xff) == (at) && !static_branch_unlikely(&uses_##name))
#define IS_DROPPED(level) \
	(__builtin_constant_p(level) && (KEYS_DROP(level, LL_DEBUG, log_debug) || KEYS_DROP(level, LL_VERBOSE, log_verbose)))

/* Set when the first module is loaded. */
extern int keysModules;
/* Turns on the keys of features that are in use. The main thread calls it after each change of these. */
void keysFollow(void);

#endif
