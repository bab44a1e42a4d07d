/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What an operator does with the keys of a program from outside, if the program allows it: docs/operating.md. Link with -ljumplabel-agent,
 * too (pkg-config jumplabel-agent, CMake jumplabel::agent), a library of its own: a program that does not ask for it pays nothing. The archive has
 * all of libjumplabel: -ljumplabel-agent -ljumplabel, in this order, also with -static.
 *
 *     JUMPLABEL_STARTUP();                    outside of functions, once in the program; or jumplabel_startup()
 *
 *     JUMPLABEL='net.*=on' ./server           sets keys before main
 *     JUMPLABEL=help ./server                 lists them
 *     JUMPLABEL_AGENT=1 ./server              starts an agent: a thread with a socket
 *
 * Keys are those with a record: RECORD_STATIC_KEY() in jumplabel.h. No function here is for signal handlers. An error is a number of errno.h
 * with the sign changed.
 */
#ifndef JUMPLABEL_AGENT_H
#define JUMPLABEL_AGENT_H

#include "jump_label.h"

JUMPLABEL_C_BEGIN_

/* Does what the variables JUMPLABEL and JUMPLABEL_AGENT say. The second call does nothing. What cannot be done is a line on standard
   error each, and the program goes on. A process that runs with more rights than its user (AT_SECURE) ignores both. No other thread may
   change the environment meanwhile. Costs a look at the environment if they are not set. */
void jumplabel_startup(void);

/* The same before main, behind the constructors that register keys, and in front of the program's own. */
#define JUMPLABEL_STARTUP()                                                                                            \
	__attribute__((__constructor__(101))) static void jumplabel_startup_here_(void)                                \
	{                                                                                                              \
		jumplabel_startup();                                                                                   \
	}                                                                                                              \
	JUMPLABEL_ASSERT_(1, "")

/* A line about a change, a refusal, or trouble. In the agent's thread, where all signals are blocked; no client is served meanwhile. It must
   not wait for an answer of the agent, and no exception may leave it. */
typedef void (*jumplabel_agent_log_fn)(const char *_line, void *_data);

/* Starts the agent. `_words` are those of JUMPLABEL_AGENT: "read-only", "children", "verify=SECONDS", "name=NAME", "dir=PATH", with commas
   between them; NULL or "1": none of these; "0": no agent. `_log` gets its lines, and why there is no agent; NULL: standard error. With it
   the process has a second thread. A child of fork() has no agent, unless "children" says so, and may start its own.
     -EEXIST   there is one already                      -EINVAL   a word or a name that means nothing
     -EALREADY another thread is about to start one      -EAGAIN   no thread
     -ENOENT   no directory: set XDG_RUNTIME_DIR         -EACCES   the directory is another user's, or others may enter it
     -EBUSY    the lock prefixes cannot be put in        others    of the socket or the directory
     -ENOSYS   on Windows there is none: other functions do nothing then, and jumplabel_startup() and jumplabel_agent_on_change() work */
int jumplabel_agent_start(const char *_words, jumplabel_agent_log_fn _log, void *_data);

/* Forbids the agent to change what a selector without a value chooses: "auth.*". For good. -EINVAL: it makes no sense, or nothing matches. */
int jumplabel_agent_no_remote(const char *_selector);
/* The same, and a reason, which an operator is told who tries it. */
int jumplabel_agent_no_remote_because(const char *_selector, const char *_reason);

/* As jumplabel_on_change() of <jumplabel.h>, for the keys and modes that a selector without a value chooses, also those of objects that are loaded
   later: "net.*", "file:src/cache.c". `_name` is as lists show it. For an operator it is called in the agent's thread: then it must not wait for an
   answer of the agent, nor for jumplabel_agent_pause(). Each flip of any key costs a list of all keys, in the thread that flips; no key may flip in a
   signal handler then. The number is for jumplabel_on_change_remove(); some memory stays. -EINVAL: the selector makes no sense; -ENOMEM: 64 are
   registered. */
struct jumplabel_changed;
typedef void (*jumplabel_agent_changed_fn)(const char *_name, const struct jumplabel_changed *_changed, void *_data);
int jumplabel_agent_on_change(const char *_selector, jumplabel_agent_changed_fn _told, void *_data);

/* Has agents of this process list and configure what a layer has, for good: jumplabel_agent_serve(jumplabel_fail_layer()). -EINVAL: no layer, or
   one of another version; -EEXIST: another one has its names already, such as another copy of its library. */
struct jumplabel_layer;
int jumplabel_agent_serve(const struct jumplabel_layer *_layer);

/* The agent touches no key until the same thread resumes it: while an object with keys is unloaded. */
struct jumplabel_agent_paused;
struct jumplabel_agent_paused *jumplabel_agent_pause(void);
void jumplabel_agent_resume(struct jumplabel_agent_paused *_paused);

JUMPLABEL_C_END_

#endif
