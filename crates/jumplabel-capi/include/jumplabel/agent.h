/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Lets an operator change the keys of a program from outside, if the program allows it: docs/operating.md. Link with -ljumplabel-agent as well
 * (pkg-config jumplabel-agent, CMake jumplabel::agent). It is a library of its own, so programs without it pay nothing. Its archive contains all of
 * libjumplabel: -ljumplabel-agent -ljumplabel, in this order, also with -static.
 *
 *     JUMPLABEL_STARTUP();                    outside of functions, once in the program or shared library; or jumplabel_startup()
 *
 *     JUMPLABEL='net.*=on' ./server           sets keys before main
 *     JUMPLABEL=help ./server                 lists them
 *     JUMPLABEL_AGENT=1 ./server              starts an agent: a thread with a socket
 *
 * Only keys with a record are listed and changed: RECORD_STATIC_KEY() in jumplabel.h. No function here may be called in a signal handler. An error is
 * a number of errno.h with the sign changed.
 */
#ifndef JUMPLABEL_AGENT_H
#define JUMPLABEL_AGENT_H

#include "jump_label.h"

JUMPLABEL_C_BEGIN_

/* Does what the variables JUMPLABEL and JUMPLABEL_AGENT say. A later call sets keys that the earlier ones have not seen: those of the program, after
   a shared library's. For each part that cannot be done, the first call writes a line on standard error, and the program goes on. A process with more
   rights than its user (AT_SECURE) ignores both variables. No other thread may change the environment meanwhile. If neither is
   set, this costs a look at the environment. */
void jumplabel_startup(void);

/* Calls jumplabel_startup() before main, after the constructors that register keys, and before the program's own. */
#define JUMPLABEL_STARTUP()                                                                                            \
	__attribute__((__constructor__(101))) static void jumplabel_startup_here_(void)                                \
	{                                                                                                              \
		jumplabel_startup();                                                                                   \
	}                                                                                                              \
	JUMPLABEL_ASSERT_(1, "")

/* Gets a line about a change, a refusal, or a problem. It is called in the agent's thread, where all signals are blocked, and the agent serves no
   client meanwhile. It must not wait for an answer of the agent, and no exception may leave it. */
typedef void (*jumplabel_agent_log_fn)(const char *_line, void *_data);

/* Starts the agent, which is a second thread of the process. `_words` are those of JUMPLABEL_AGENT: "read-only", "children", "verify=SECONDS",
   "name=NAME", "dir=PATH", separated by commas; NULL or "1" is an agent without options, "0" is none. `_log` gets its lines, and the reason if there
   is no agent; if it is NULL, they go to standard error. A child of fork() has no agent, except with "children", and may start its own.
     -EEXIST   there is one already                      -EINVAL   a word or a name that means nothing
     -EALREADY another thread is about to start one      -EAGAIN   no thread
     -ENOENT   no directory: set XDG_RUNTIME_DIR         -EACCES   the directory is another user's, or others may enter it
     -EBUSY    the lock prefixes cannot be put in        others    of the socket or the directory
     -ENOSYS   on Windows there is none: other functions do nothing then, and jumplabel_startup() and jumplabel_agent_on_change() work */
int jumplabel_agent_start(const char *_words, jumplabel_agent_log_fn _log, void *_data);

/* Forbids the agent for ever to change the keys that a selector without a value chooses, such as "auth.*". -EINVAL: the selector is wrong, or nothing
   matches. */
int jumplabel_agent_no_remote(const char *_selector);
/* The same with a reason. The agent tells the reason to an operator who tries to change such a key. */
int jumplabel_agent_no_remote_because(const char *_selector, const char *_reason);

/* Like jumplabel_on_change() of <jumplabel.h>, for all keys and modes that a selector without a value chooses ("net.*", "file:src/cache.c"), also
   those of objects that are loaded later. `_name` is the name in lists. For an operator's change, the function is called in the agent's thread; then
   it must not wait for an answer of the agent, nor call jumplabel_agent_pause(). Each flip of any key makes a list of all keys, in the thread that
   flips, so no key may then be flipped in a signal handler. Returns a number for jumplabel_on_change_remove(), which does not free all memory.
   -EINVAL: the selector is wrong; -ENOMEM: 64 functions are registered. */
struct jumplabel_changed;
typedef void (*jumplabel_agent_changed_fn)(const char *_name, const struct jumplabel_changed *_changed, void *_data);
int jumplabel_agent_on_change(const char *_selector, jumplabel_agent_changed_fn _told, void *_data);

/* Makes agents of this process list and configure a layer for ever: jumplabel_agent_serve(jumplabel_fail_layer()). -EINVAL: no layer, or one of
   another version; -EEXIST: another layer has its names, such as that of another copy of its library. */
struct jumplabel_layer;
int jumplabel_agent_serve(const struct jumplabel_layer *_layer);

/* Keeps the agent from touching keys, while an object with keys is unloaded. The same thread must resume it. */
struct jumplabel_agent_paused;
struct jumplabel_agent_paused *jumplabel_agent_pause(void);
void jumplabel_agent_resume(struct jumplabel_agent_paused *_paused);

JUMPLABEL_C_END_

#endif
