/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All of jumplabel for C and C++: Linux's static keys, and what Linux does not have: functions that return errors, transactions, the warning hook,
 * lists of keys and sites.
 *
 * Functions that return int return 0 or a negative error number: a number of errno.h with the sign changed. After an error, nothing has changed.
 * jumplabel_strerror() says what to do about it.
 */
#ifndef JUMPLABEL_H
#define JUMPLABEL_H

#include "jumplabel/jump_label.h"
#include "jumplabel/jump_label_ratelimit.h"
#include "jumplabel/alternative.h"
#include "jumplabel/lock_prefix.h"
#include "jumplabel/pv_ops.h"
#include "jumplabel/static_call.h"
#include "jumplabel/static_naked_key.h"
#include "jumplabel/static_switch.h"
#include "jumplabel/tracepoint.h"

/* Records of keys contain no instructions, so files without sites have them, too. */
#if defined(JUMPLABEL_FALLBACK) && defined(__MINGW32__) && defined(__x86_64__) && defined(__clang__)
#if __clang_major__ >= 19
#include "jumplabel/arch.h"
#include "jumplabel/site.h"
#endif
#elif defined(JUMPLABEL_FALLBACK) && defined(__ELF__) && defined(__linux__)
#if defined(__clang__) ? __clang_major__ >= 14 : __GNUC__ >= 9
#include "jumplabel/arch.h"
#if defined(JUMP_LABEL_NOP_SIZE) && !((defined(__s390x__) || defined(__arm__)) && defined(__PIC__) && !defined(__clang__))
#include "jumplabel/site.h"
#endif
#endif
#endif

JUMPLABEL_C_BEGIN_

/* ---- Changes that report errors --------------------------------------------------------------------------------- */

/*
 *   -EINVAL      the key is NULL, misaligned, or of an   -EDEADLK    this thread is in the middle of a flip,
 *                object that was unloaded                           or holds jump_label_lock()
 *   -EBUSY       enable, disable: several users         -EOVERFLOW  inc: the count is INT_MAX
 *   -ERANGE      dec: the key is off                    -EROFS      the key is sealed
 *   -EACCES      the system refuses to change code,     -ENOENT     no such writer
 *                or to read it (execute-only)
 *   -EADDRINUSE  a site holds foreign bytes             -ENOEXEC    a damaged table, a target out of reach, BOLT
 *   -EAGAIN      threads run, and there is no core sync -ENOMEM     no memory
 *   -ENOSYS      the library was built without sites    -EIO        refused in mid-batch, and so was undoing it
 *   -EFAULT      a static call: no code is mapped there -EEXIST     a tracepoint has this probe with these data
 *   -EINPROGRESS no constructor of the object that the key is in has run: .preinit_array, or a constructor of a library below it;
 *                or all its destructors have run
 *   -ELOOP       a static call: that is its own trampoline; keep what static_call_query returns
 */
int jumplabel_enable(struct static_key *_key);
int jumplabel_disable(struct static_key *_key);
int jumplabel_inc(struct static_key *_key);
int jumplabel_dec(struct static_key *_key);
int jumplabel_dec_deferred(struct static_key_deferred *_key);
/* Forbids all further changes of the key. */
int jumplabel_seal(struct static_key *_key);
/* Puts the instruction that the compiler emitted back into all sites that fall through. */
int jumplabel_restore_pristine(struct static_key *_key);

/* Does work of the process's first flip in advance: registers the process for membarrier (milliseconds if it has threads), lists the sites of all
   loaded objects, tries the writers. No flip needs it; call it if there is no time at the first flip. Call it again in a child of fork and after
   dlopen. -EACCES, -ENOENT: flips would fail. It also patches sites that still load their key (DEFINE_STATIC_KEY_*_OR_LOAD()), if they shall fall
   through. jumplabel_prepare_key() does this for one key only, and returns the number of patched sites. jumplabel_loading() returns the number of
   sites in the process that load now. */
int jumplabel_prepare(void);
long jumplabel_prepare_key(struct static_key *_key);
long jumplabel_loading(void);

/* Checks the sites of all keys, static calls and modes, or of one key, and restores those that something else has changed: a probe that was removed,
   or code that was read from its file again. Returns the number of restored sites, or an error of jumplabel_enable(): -EADDRINUSE if a probe is still
   there. Costs a read of each site. */
long jumplabel_verify(void);
long jumplabel_verify_key(struct static_key *_key);

/* Says what an error of this library means and what to do about it. The text is static. */
const char *jumplabel_strerror(int _error);

/* The struct static_key of a key of any type, as the functions above take it: jumplabel_enable(jumplabel_key(&trace)). */
#define jumplabel_key(x)                                                                                               \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_ANY_(x);                                                                              \
		jumplabel_variable_(JUMPLABEL_IN_MODULE_(x));                                                          \
	})

/* ---- Transactions ----------------------------------------------------------------------------------------------- */

/* Changes several keys, in an array of any length: all or nothing, with one or three interrupts of the other processors. If a key is listed twice,
   the last change wins. Before it takes the lock, the library copies the list: to the stack, or, for 33 changes and more, to memory of its own, never
   by malloc(). -EINVAL: a change has no key, or there is no array. */
struct jumplabel_change {
	struct static_key *key;
	bool enable;
};

int jumplabel_set_all(const struct jumplabel_change *_changes, size_t _count);

/* The same for keys, static calls and modes together. All members of the structure are the library's.
 *
 *     struct jumplabel_request requests[] = {
 *         jumplabel_request_key(&checked.key, true),
 *         jumplabel_request_call(step, careful),              as static_call_update(step, careful)
 *         jumplabel_request_mode(&policy, 2),
 *     };
 *     int error = jumplabel_commit(requests, 3);
 *
 * While it runs, a thread may find some sites in the new state and others in the old one. -EINVAL also means: NULL for a static call that must lead
 * to a function, or a mode that does not exist. */
struct jumplabel_request {
	int _what;
	int _number;
	const void *_patchable;
	jumplabel_function_ _func, _first;
};

static __inline__ struct jumplabel_request jumplabel_request_key(struct static_key *_key, bool _enable)
{
	struct jumplabel_request _request = { 0, _enable, _key, JUMPLABEL_NULL_, JUMPLABEL_NULL_ };
	return _request;
}

static __inline__ struct jumplabel_request jumplabel_request_mode(struct static_mode *_mode, int _number)
{
	struct jumplabel_request _request = { 2, _number, _mode, JUMPLABEL_NULL_, JUMPLABEL_NULL_ };
	return _request;
}

static __inline__ struct jumplabel_request jumplabel_request_call_(struct jumplabel_call_ _call, jumplabel_function_ _func)
{
	struct jumplabel_request _request = { 1, 0, _call.key, jumplabel_function_of_(_call, _func), _call._first };
	return _request;
}

#define jumplabel_request_call(name, target)                                                                           \
	jumplabel_request_call_(JUMPLABEL_CALL_(name)(),                                                               \
				JUMPLABEL_CAST_(jumplabel_function_, JUMPLABEL_TARGET_(name, target)))

int jumplabel_commit(const struct jumplabel_request *_requests, size_t _count);

/* ---- Warnings --------------------------------------------------------------------------------------------------- */

/* The hook is called wherever Linux has a WARN, and when a function without a result fails. `_message` lives as long as the call. The hook must not
   call jump_label_lock(): if the lock is already held, this warns again, by a call of the hook, without end. */
typedef void (*jumplabel_warn_fn)(const char *_message, void *_data);

/* Sets the hook. NULL, the default: one line on standard error. */
void jumplabel_set_warn(jumplabel_warn_fn _hook, void *_data);

/* ---- Functions that are called after flips ---------------------------------------------------------------------- */

/* Who asked for a change: the program; the variable JUMPLABEL; an operator (`uid` is the user); an agent that ends an operator's temporary change. */
enum { JUMPLABEL_BY_PROGRAM, JUMPLABEL_BY_STARTUP, JUMPLABEL_BY_OPERATOR, JUMPLABEL_BY_REVERT };

struct jumplabel_changed {
	/* The key or the mode that has changed. The other one is NULL. */
	struct static_key *key;
	struct static_mode *mode;
	/* Its new state: 1 or 0 for a key, the number for a mode. Another thread may have changed it again. */
	int state;
	int by;
	unsigned int uid;
};

/* A function that is called when a flip has committed: in the thread that flips, after it has released the library's lock, and before the function
   that flips returns. It is called once for each key that went on or off. `_changed` lives as long as the call. It may flip; then it is called for
   that flip inside this call, and the ninth flip inside of each other is refused (-EDEADLK). It may wait for other threads that flip. It must not end
   the thread, nor be left by an exception or longjmp(), and the thread must not be cancelled meanwhile. Calls for flips of different threads may
   overlap, so a function that keeps a copy of the state must read static_key_enabled(), under a lock of its own. */
typedef void (*jumplabel_changed_fn)(const struct jumplabel_changed *_changed, void *_data);

/* Registers `_told`, which is called whenever the key has changed; whenever any key or mode has changed if `_key` is NULL. Returns a number above 0,
   or an error. Takes a lock, so do not call it in a signal handler. A flip in a signal handler calls the functions there. -ENOMEM also: 64 functions
   are registered. -EINVAL also: `_told` is NULL. */
int jumplabel_on_change(const struct static_key *_key, jumplabel_changed_fn _told, void *_data);

/* Removes a registration: no new call of its function begins. Returns the number of its calls that still run (in such a call: with this one), without
   waiting. Before you free what the function uses, or close its library, call this again until it returns 0. */
long jumplabel_on_change_remove(int _number);

/* ---- Introspection ---------------------------------------------------------------------------------------------- */

struct jumplabel_site {
	const void *address;
	/* The place to which the site jumps, if it jumps. */
	const void *target;
	/* The result of the check if execution falls through: true for static_branch_likely(). */
	bool arm;
	/* The present instruction. */
	unsigned char size;
	unsigned char bytes[14];
	/* "nop", "test", "jump", or "load" (a jump to a stub that loads the key). NULL if something else wrote there. */
	const char *state;
};

/* Calls `_visit`, if it is not NULL, for each site of the key. The lock is not held then, so `_visit` may flip. Returns the number of sites, or an
   error. No exception may leave `_visit` or the warning hook. */
long jumplabel_for_each_site(const struct static_key *_key, void (*_visit)(const struct jumplabel_site *_site, void *_data),
			     void *_data);

/* Lets a key be listed, and operators choose it by name. Write it next to the definition of a key that has a type. (The definition itself leaves no
 * record: as in Linux, it is one variable, which may be `static` or a member.)
 *
 *     static DEFINE_STATIC_KEY_FALSE(trace);
 *     RECORD_STATIC_KEY(trace, "net.trace");
 *     static DEFINE_STATIC_KEY_ARRAY_TRUE(hooks, 4);
 *     RECORD_STATIC_KEY_ARRAY(hooks, "");            listed as hooks[0] ... hooks[3]
 *     RECORD_STATIC_KEY(config.verify, "");
 *
 * The key's path is its expression as written here; if the name is "", it is the path. Use it outside of functions. Costs 40 bytes of constants and
 * the texts. It also works in files with JUMPLABEL_FALLBACK, on targets that have sites; on other targets it does nothing. */
#define RECORD_STATIC_KEY(key, name) JUMPLABEL_RECORD_KEY_AT_(__COUNTER__, &(key), &(key), 1, 0, #key, name)
#define RECORD_STATIC_KEY_ARRAY(keys, name)                                                                            \
	JUMPLABEL_RECORD_KEY_AT_(__COUNTER__, &(keys)[0], &(keys), sizeof(keys) / sizeof((keys)[0]),                   \
				 sizeof((keys)[0]) << 8, #keys, name)
#define JUMPLABEL_RECORD_KEY_AT_(id, first, keys, count, stride, path, name)                                           \
	JUMPLABEL_RECORD_KEY_(id, first, keys, count, stride, path, name)
#define JUMPLABEL_ASSERT_RECORDED_(first)                                                                        \
	JUMPLABEL_ASSERT_((JUMPLABEL_TYPE_(first) & ~5) == 0,                                                          \
			  "RECORD_STATIC_KEY() takes a struct static_key_true or a struct static_key_false, " \
			  "RECORD_STATIC_KEY_ARRAY() an array of them")

#ifndef JUMPLABEL_INDIRECT_
#define JUMPLABEL_RECORD_KEY_(id, first, keys, count, stride, path, name) JUMPLABEL_ASSERT_RECORDED_(first)
#else
#define JUMPLABEL_RECORD_KEY_(id, first, keys, count, stride, path, name)                                              \
	JUMPLABEL_DECLARED_(jumplabel_declaration_of_##id##_, path, name, count,                                       \
			    (JUMPLABEL_TYPE_(first) & 1) | JUMPLABEL_INDIRECT_ | (stride))                             \
	JUMPLABEL_RECORD_IN_(id, keys)                                                                                 \
	JUMPLABEL_ASSERT_RECORDED_(first)
#endif

/* A key with a record, which these leave: the macros for Rust, RECORD_STATIC_KEY, naked keys, and tracepoints, whose name is that of their key. The
   texts do not end with a 0. `name` is the name in the declaration, or the path if it gives none. The path begins with the module. */
struct jumplabel_key_info {
	struct static_key *key;
	const char *name;
	size_t name_length;
	const char *path;
	size_t path_length;
	const char *module;
	size_t module_length;
	const char *file;
	size_t file_length;
	unsigned int line;
	unsigned int column;
	/* The number of the element in an array; -1 for a single key. */
	int element;
	size_t sites;
};

long jumplabel_for_each_key(void (*_visit)(const struct jumplabel_key_info *_info, void *_data), void *_data);

/* A static call or a mode, declared in Rust or in C, but not in a file with JUMPLABEL_FALLBACK. The texts are as those of keys; the path of one in C
   is its name. `sites` counts trampolines or switches. Everything else is as for jumplabel_for_each_key(). */
struct jumplabel_call_info {
	struct static_call_key *call;
	/* The function to which it leads; NULL if this is the first one. */
	jumplabel_function_ target;
	const char *path;
	size_t path_length;
	const char *module;
	size_t module_length;
	const char *file;
	size_t file_length;
	unsigned int line;
	unsigned int column;
	size_t sites;
};

struct jumplabel_mode_info {
	struct static_mode *mode;
	const char *path;
	size_t path_length;
	const char *module;
	size_t module_length;
	const char *file;
	size_t file_length;
	unsigned int line;
	unsigned int column;
	/* The present mode, and the number of modes. */
	int number;
	int arms;
	size_t sites;
};

long jumplabel_for_each_call(void (*_visit)(const struct jumplabel_call_info *_info, void *_data), void *_data);
long jumplabel_for_each_mode(void (*_visit)(const struct jumplabel_mode_info *_info, void *_data), void *_data);

/* Sets the writer that writes code from now on: "procmem", "mprotect", "remap"; "auto" or NULL for the automatic choice. -ENOENT: no such writer. */
int jumplabel_set_writer(const char *_name);

JUMPLABEL_C_END_

#endif
