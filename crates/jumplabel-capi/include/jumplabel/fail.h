/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fail points: places at which a test or an operator injects errors, delays, or a crash. A point that is not configured is one nop. Link with
 * libjumplabel-fail: the shared library in addition to libjumplabel (-ljumplabel-fail -ljumplabel, pkg-config jumplabel-fail, CMake jumplabel::fail),
 * or the archive in place of it (-l:libjumplabel-fail.a, jumplabel::fail_static). docs/fail.md has the grammar of actions.
 *
 *     int save(const char *path)
 *     {
 *         JUMPLABEL_FAIL_POINT("save");                                      can wait, print, end the program; cannot return
 *         JUMPLABEL_FAIL_POINT("save.open", text, return -EIO);              the statement runs if the point has return(text)
 *         JUMPLABEL_FAIL_POINT("save.write", text, {                         any statement: goto, throw, a block
 *             errno = text ? atoi(text) : EIO;
 *             return -1;
 *         });
 *         JUMPLABEL_FAIL_POINT_IF(is_big(path), "save.big", text, return -ENOSPC);
 *
 *     FAILPOINTS='save.open=2*return->off' ./program                         with jumplabel_fail_setup() in main()
 *
 * `text` is a name that you choose, for a const char *: the text in the parentheses of return(...), or NULL. It is freed when the statement is left.
 * The name of a point must be a literal. A condition is evaluated only while the point is on. Points in C and in Rust share one registry if the
 * program depends on the crate jumplabel-fail-capi, and links none of these libraries. With JUMPLABEL_FALLBACK, a point asks the library whether
 * anything is configured, and is not listed.
 *
 * No function here may be called in a signal handler. An error is a number of errno.h with the sign changed; jumplabel_fail_error() has the reason.
 */
#ifndef JUMPLABEL_FAIL_H
#define JUMPLABEL_FAIL_H

#include "jump_label.h"

JUMPLABEL_C_BEGIN_

/* Removes all configurations, and then reads the variable FAILPOINTS: name=actions;name=actions. Nothing else reads this variable. -EINVAL: it has an
   error; -EACCES: the system does not allow writes to code. After an error, nothing is configured. */
int jumplabel_fail_setup(void);
/* Removes all configurations. Threads that pause at a point go on. */
void jumplabel_fail_teardown(void);

/* Configures a point, and replaces its earlier configuration: jumplabel_fail_cfg("save.open", "20%3*print(still alive!)->return(5)"). Errors are as
   above; after an error, nothing has changed. Costs one batch, some 10 us, and a look at each key of the program. */
int jumplabel_fail_cfg(const char *_name, const char *_actions);

/* Makes a point call a function in each thread that reaches it. The function may configure points. No exception may leave it. */
typedef void (*jumplabel_fail_fn)(void *_data);
int jumplabel_fail_cfg_callback(const char *_name, jumplabel_fail_fn _callback, void *_data);

/* Removes the configuration of a point. Threads that pause there go on. */
void jumplabel_fail_remove(const char *_name);

/* Calls `_visit`, if it is not NULL, for each configured point. Returns the number of these points. */
typedef void (*jumplabel_fail_visit_fn)(const char *_name, const char *_actions, void *_data);
long jumplabel_fail_list(jumplabel_fail_visit_fn _visit, void *_data);

/* Turns on or off the points of objects that were loaded in the meantime. Call it after dlopen(). */
int jumplabel_fail_sync(void);

/* The reason for the last failure of a call in this thread. The text lives until the next failure. */
const char *jumplabel_fail_error(void);

/* Pass this to jumplabel_agent_serve() of <jumplabel/agent.h>, so that an operator can list and configure points. */
struct jumplabel_layer;
const struct jumplabel_layer *jumplabel_fail_layer(void);

/* Internal. */
extern const void *const jumplabel_fail_owner_;
bool jumplabel_fail_is_any_(void);
bool jumplabel_fail_reach_(const char *_name, size_t _length, char **_text);
void jumplabel_fail_free_(char *_text);
static __inline__ void jumplabel_fail_freed_(const char **_text)
{
	jumplabel_fail_free_(JUMPLABEL_CAST_(char *, JUMPLABEL_CAST_(uintptr_t, *_text)));
}

JUMPLABEL_C_END_

/* The key of a point, and the copy of the library to which it belongs: a process can have several copies. */
struct jumplabel_fail_point_ {
	struct static_key_false _key;
	const void *const *_owner;
};

#ifdef JUMPLABEL_FALLBACK
/* A point has no key here, because there is no record that could lead to it. */
#define JUMPLABEL_FAIL_DEFINED_(name)
#define JUMPLABEL_FAIL_IS_ON_() jumplabel_fail_is_any_()
#define JUMPLABEL_FAIL_RECORDED_() ((void)0)
#else
#define JUMPLABEL_FAIL_DEFINED_(name)                                                                                  \
	static JUMPLABEL_STRUCT_ jumplabel_fail_point_ jumplabel_point = { JUMPLABEL_FALSE_INIT_,                      \
									   &jumplabel_fail_owner_ };                   \
	JUMPLABEL_DECLARED_(jumplabel_declared, "jumplabel_fail_point", "fail:" name, 1, JUMPLABEL_INDIRECT_)
#define JUMPLABEL_FAIL_IS_ON_() static_branch_unlikely(&jumplabel_point._key)
#define JUMPLABEL_FAIL_RECORDED_()                                                                                     \
	JUMPLABEL_RECORD_ASM_(&jumplabel_point._key, jumplabel_declared, JUMPLABEL_OBJECT_OF_TYPED_)
#endif

/* Not a loop, but a statement expression, so that `break` in the statement leaves the program's own loop. */
#define JUMPLABEL_FAIL_PLAIN_(condition, name)                                                                         \
	__extension__({                                                                                                \
		JUMPLABEL_FAIL_DEFINED_(name)                                                                          \
		if (JUMPLABEL_FAIL_IS_ON_()) {                                                                         \
			JUMPLABEL_FAIL_RECORDED_();                                                                    \
			if (condition)                                                                                 \
				(void)jumplabel_fail_reach_(name, sizeof(name) - 1, JUMPLABEL_NULL_);                  \
		}                                                                                                      \
	})
#define JUMPLABEL_FAIL_RETURN_(condition, name, text, ...)                                                             \
	__extension__({                                                                                                \
		JUMPLABEL_FAIL_DEFINED_(name)                                                                          \
		if (JUMPLABEL_FAIL_IS_ON_()) {                                                                         \
			JUMPLABEL_FAIL_RECORDED_();                                                                    \
			if (condition) {                                                                               \
				char *jumplabel_text = JUMPLABEL_NULL_;                                                \
				if (jumplabel_fail_reach_(name, sizeof(name) - 1, &jumplabel_text)) {                  \
					const char *text __attribute__((__cleanup__(jumplabel_fail_freed_),            \
									__unused__)) = jumplabel_text;                 \
					__VA_ARGS__;                                                                   \
				}                                                                                      \
			}                                                                                              \
		}                                                                                                      \
	})

/* Chooses the macro by the number of arguments: one, or at least three. A statement with more than 12 commas must be moved into a function. */
#define JUMPLABEL_FAIL_POINT(...) JUMPLABEL_FAIL_FORM_(__VA_ARGS__)(1, __VA_ARGS__)
#define JUMPLABEL_FAIL_POINT_IF(condition, ...) JUMPLABEL_FAIL_FORM_(__VA_ARGS__)(condition, __VA_ARGS__)
#define JUMPLABEL_FAIL_FORM_(...)                                                                                      \
	JUMPLABEL_FAIL_LAST_OF_(__VA_ARGS__, JUMPLABEL_FAIL_RETURN_, JUMPLABEL_FAIL_RETURN_,                                  \
				 JUMPLABEL_FAIL_RETURN_, JUMPLABEL_FAIL_RETURN_, JUMPLABEL_FAIL_RETURN_,                                           \
				 JUMPLABEL_FAIL_RETURN_, JUMPLABEL_FAIL_RETURN_, JUMPLABEL_FAIL_RETURN_,                                           \
				 JUMPLABEL_FAIL_RETURN_, JUMPLABEL_FAIL_RETURN_, JUMPLABEL_FAIL_RETURN_,                                           \
				 JUMPLABEL_FAIL_RETURN_, JUMPLABEL_FAIL_RETURN_,                                                                   \
				 JUMPLABEL_FAIL_TWO_WORDS_, JUMPLABEL_FAIL_PLAIN_, 0)
#define JUMPLABEL_FAIL_LAST_OF_(_a, _b, _c, _d, _e, _f, _g, _h, _i, _j, _k, _l, _m, _n, _o, _form, ...) _form
#define JUMPLABEL_FAIL_TWO_WORDS_(condition, name, text)                                                               \
	JUMPLABEL_ASSERT_(0, "JUMPLABEL_FAIL_POINT(name), or (name, text, statement): what is the statement?")

#endif
