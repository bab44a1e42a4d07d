//! The edits. Each test for a feature in use first checks the feature's key. Where a feature may come into use or go out of use, the program sets the
//! keys anew. Messages of the log are such features, too.

use crate::edits::{Edit, edit};

pub const EDITS: &[Edit] = &[
    // The keys are added to the program.
    edit("src/Makefile", 1, "REDIS_SERVER_OBJ=", "REDIS_SERVER_OBJ=keys.o flipping.o "),
    edit("src/Makefile", 1, "\nFINAL_CFLAGS=", "\nFINAL_CFLAGS=$(KEYS_CFLAGS) "),
    edit("src/Makefile", 1, "FINAL_LIBS=-lm", "FINAL_LIBS=$(KEYS_LIBS) -lm"),
    edit("src/server.h", 1, "#include \"latency.h\"", "#include \"latency.h\"\n#include \"keys.h\""),
    // The clients contain this file, too, but no keys.
    edit("src/crc16.c", 1, "#include \"server.h\"", "#include <stdint.h>"),
    // Messages of the log.
    edit(
        "src/server.h",
        1,
        "if (((level)&0xff) < server.verbosity)",
        "if (IS_DROPPED(level) || ((level)&0xff) < server.verbosity)",
    ),
    edit(
        "src/server.c",
        1,
        "if (server.verbosity <= LL_VERBOSE)",
        "if (USES(log_verbose, server.verbosity <= LL_VERBOSE))",
    ),
    edit(
        "src/networking.c",
        1,
        "if (server.verbosity <= LL_VERBOSE)",
        "if (USES(log_verbose, server.verbosity <= LL_VERBOSE))",
    ),
    // The latency monitor.
    edit(
        "src/latency.h",
        2,
        "if (server.latency_monitor_threshold) {",
        "if (USES(latency, server.latency_monitor_threshold)) {",
    ),
    edit(
        "src/latency.h",
        1,
        "if (server.latency_monitor_threshold &&",
        "if (USES(latency, server.latency_monitor_threshold) &&",
    ),
    // Events for subscribers and for modules.
    edit("src/notify.c", 1, "void notifyKeyspaceEvent(", "void (notifyKeyspaceEvent)("),
    edit(
        "src/server.h",
        1,
        "/* TLS stuff */",
        "#define notifyKeyspaceEvent(...) do { if (USES(events, 1)) (notifyKeyspaceEvent)(__VA_ARGS__); } while (0)\n",
    ),
    edit("src/db.c", 2, "moduleNotifyKeyUnlink(", "if (USES(modules, 1)) moduleNotifyKeyUnlink("),
    edit(
        "src/server.c",
        1,
        "    moduleCallCommandFilters(c);",
        "    if (USES(modules, 1)) moduleCallCommandFilters(c);",
    ),
    edit(
        "src/server.c",
        1,
        "if (server.busy_module_yield_flags != BUSY_MODULE_YIELD_NONE &&",
        "if (USES(modules, server.busy_module_yield_flags != BUSY_MODULE_YIELD_NONE) &&",
    ),
    edit(
        "src/module.c",
        1,
        "    handle = dlopen(path,",
        "    keysModules = 1;\n    keysFollow();\n    handle = dlopen(path,",
    ),
    // Clients that track keys, and clients that watch all commands.
    edit("src/db.c", 1, "trackingInvalidateKey(c,key,1);", "if (USES(tracking, 1)) trackingInvalidateKey(c,key,1);"),
    edit("src/server.c", 2, "if (server.tracking_clients)", "if (USES(tracking, server.tracking_clients))"),
    edit(
        "src/server.c",
        1,
        "if ((c->cmd->flags & CMD_READONLY) && (c->cmd->proc",
        "if (USES(tracking, c->cmd->flags & CMD_READONLY) && (c->cmd->proc",
    ),
    edit(
        "src/server.c",
        2,
        "trackingHandlePendingKeyInvalidations();",
        "if (USES(tracking, 1)) trackingHandlePendingKeyInvalidations();",
    ),
    edit("src/tracking.c", 1, "server.tracking_clients++;", "{ server.tracking_clients++; keysFollow(); }"),
    edit(
        "src/server.c",
        1,
        "if (!(c->cmd->flags & (CMD_SKIP_MONITOR|CMD_ADMIN))) {",
        "if (USES(monitors, !(c->cmd->flags & (CMD_SKIP_MONITOR|CMD_ADMIN)))) {",
    ),
    edit(
        "src/server.c",
        1,
        "listAddNodeTail(server.monitors,c);",
        "listAddNodeTail(server.monitors,c);\n    keysFollow();",
    ),
    // Clusters, memory limits, threads, pauses, child processes, loading.
    edit("src/db.c", 9, "if (server.cluster_enabled)", "if (USES(cluster, server.cluster_enabled))"),
    edit("src/server.c", 8, "if (server.cluster_enabled)", "if (USES(cluster, server.cluster_enabled))"),
    edit("src/server.c", 3, "if (server.cluster_enabled &&", "if (USES(cluster, server.cluster_enabled) &&"),
    edit(
        "src/db.c",
        2,
        "if (server.maxmemory_policy & MAXMEMORY_FLAG_LFU)",
        "if (USES(lfu, server.maxmemory_policy & MAXMEMORY_FLAG_LFU))",
    ),
    edit(
        "src/object.c",
        4,
        "if (server.maxmemory_policy & MAXMEMORY_FLAG_LFU)",
        "if (USES(lfu, server.maxmemory_policy & MAXMEMORY_FLAG_LFU))",
    ),
    edit("src/server.c", 1, "if (server.maxmemory && !isInside", "if (USES(maxmemory, server.maxmemory) && !isInside"),
    edit("src/server.c", 2, "evictClients();", "if (USES(client_eviction, 1)) evictClients();"),
    edit(
        "src/networking.c",
        6,
        "updateClientMemUsageAndBucket(c);",
        "if (USES(client_eviction, 1)) updateClientMemUsageAndBucket(c);",
    ),
    edit("src/networking.c", 1, "if (postponeClientRead(c))", "if (USES(io_threads, postponeClientRead(c)))"),
    edit(
        "src/networking.c",
        1,
        "if (io_threads_op != IO_THREADS_OP_IDLE) {",
        "if (USES(io_threads, io_threads_op != IO_THREADS_OP_IDLE)) {",
    ),
    edit(
        "src/networking.c",
        2,
        "    if (io_threads_op == IO_THREADS_OP_IDLE)",
        "    if (!USES(io_threads, io_threads_op != IO_THREADS_OP_IDLE))",
    ),
    edit(
        "src/networking.c",
        1,
        "if (!clientHasPendingReplies(c) && io_threads_op == IO_THREADS_OP_IDLE)",
        "if (!clientHasPendingReplies(c) && !USES(io_threads, io_threads_op != IO_THREADS_OP_IDLE))",
    ),
    edit(
        "src/server.c",
        1,
        "((server.client_pause_type == CLIENT_PAUSE_ALL) ||",
        "USES(pause, 1) && ((server.client_pause_type == CLIENT_PAUSE_ALL) ||",
    ),
    edit(
        "src/networking.c",
        1,
        "server.client_pause_type = type;",
        "server.client_pause_type = type;\n    keysFollow();",
    ),
    edit("src/db.c", 1, "if (!hasActiveChildProcess() &&", "if (!USES(child, hasActiveChildProcess()) &&"),
    edit("src/server.c", 2, "server.child_pid = -1;", "server.child_pid = -1; keysFollow();"),
    edit("src/server.c", 1, "server.child_pid = childpid;", "server.child_pid = childpid; keysFollow();"),
    edit(
        "src/server.c",
        1,
        "if (server.loading && c->flags & CLIENT_SCRIPT)",
        "if (USES(loading, server.loading) && c->flags & CLIENT_SCRIPT)",
    ),
    edit(
        "src/server.c",
        1,
        "if (server.loading && !server.async_loading &&",
        "if (USES(loading, server.loading) && !server.async_loading &&",
    ),
    edit(
        "src/server.c",
        1,
        "if (server.async_loading && is_deny",
        "if (USES(loading, server.async_loading) && is_deny",
    ),
    edit("src/rdb.c", 1, "    server.loading = 1;", "    server.loading = 1;\n    keysFollow();"),
    edit("src/rdb.c", 1, "    server.loading = 0;", "    server.loading = 0;\n    keysFollow();"),
    // Replication, on both ends, and the append-only file.
    edit(
        "src/db.c",
        1,
        "int is_ro_replica = server.masterhost &&",
        "int is_ro_replica = USES(replica, server.masterhost != NULL) &&",
    ),
    edit("src/db.c", 1, "if (server.masterhost != NULL) {", "if (USES(replica, server.masterhost != NULL)) {"),
    edit(
        "src/server.c",
        1,
        "if (server.masterhost && server.repl_slave_ro &&",
        "if (USES(replica, server.masterhost != NULL) && server.repl_slave_ro &&",
    ),
    edit(
        "src/server.c",
        1,
        "if (server.masterhost && server.repl_state != REPL_STATE_CONNECTED &&",
        "if (USES(replica, server.masterhost != NULL) && server.repl_state != REPL_STATE_CONNECTED &&",
    ),
    edit(
        "src/networking.c",
        3,
        "    if (c->flags & CLIENT_MASTER) {",
        "    if (USES(replica, c->flags & CLIENT_MASTER)) {",
    ),
    edit(
        "src/networking.c",
        1,
        "if (c->flags & CLIENT_MASTER && !(c->flags & CLIENT_MULTI)) {",
        "if (USES(replica, c->flags & CLIENT_MASTER) && !(c->flags & CLIENT_MULTI)) {",
    ),
    edit(
        "src/networking.c",
        1,
        "if (c->flags & CLIENT_MASTER && readlen",
        "if (USES(replica, c->flags & CLIENT_MASTER) && readlen",
    ),
    edit(
        "src/networking.c",
        3,
        "    if (!(c->flags & CLIENT_MASTER) && ",
        "    if (!USES(replica, c->flags & CLIENT_MASTER) && ",
    ),
    edit(
        "src/networking.c",
        1,
        "        if (!(c->flags & CLIENT_MASTER)) c->last",
        "        if (!USES(replica, c->flags & CLIENT_MASTER)) c->last",
    ),
    edit(
        "src/networking.c",
        1,
        "    if ((c->flags & CLIENT_MASTER) &&",
        "    if (USES(replica, c->flags & CLIENT_MASTER) &&",
    ),
    edit(
        "src/replication.c",
        1,
        "    server.masterhost = sdsnew(ip);",
        "    server.masterhost = sdsnew(ip);\n    keysFollow();",
    ),
    edit(
        "src/config.c",
        1,
        "    server.masterhost = sdsnew(argv[0]);",
        "    server.masterhost = sdsnew(argv[0]);\n    keysFollow();",
    ),
    edit(
        "src/networking.c",
        9,
        "if (getClientType(c) == CLIENT_TYPE_SLAVE",
        "if (USES(replicas, getClientType(c) == CLIENT_TYPE_SLAVE)",
    ),
    edit(
        "src/server.c",
        1,
        "if (is_write_command && !checkGood",
        "if (is_write_command && USES(min_replicas, 1) && !checkGood",
    ),
    edit(
        "src/server.c",
        1,
        "if (propagate_flags != PROPAGATE_NONE)",
        "if (USES(propagation, propagate_flags != PROPAGATE_NONE))",
    ),
    edit(
        "src/aof.c",
        1,
        "server.aof_state = AOF_WAIT_REWRITE;",
        "server.aof_state = AOF_WAIT_REWRITE;\n    keysFollow();",
    ),
    edit(
        "src/replication.c",
        1,
        "    server.repl_backlog = zmalloc(sizeof(replBacklog));",
        "    server.repl_backlog = zmalloc(sizeof(replBacklog));\n    keysFollow();",
    ),
    edit(
        "src/replication.c",
        2,
        "listAddNodeTail(server.slaves,c);",
        "listAddNodeTail(server.slaves,c);\n    keysFollow();",
    ),
    // Settings: when they are read, before they are applied, and when they are undone.
    edit("src/server.c", 1, "    initServer();", "    keysFollow();\n    initServer();\n    keysFollow();"),
    edit("src/config.c", 1, "    /* Apply all configs after being set */", "    keysFollow();"),
    edit("src/config.c", 1, "end:\n    zfree(set_configs);", "end:\n    keysFollow();\n    zfree(set_configs);"),
];
