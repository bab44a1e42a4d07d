/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All of jumplabel for C and C++: Linux's static keys, and what Linux lacks: functions that return errors, transactions,
 * the warning hook, introspection.
 *
 * Functions that return int return 0 or a negative number: an error of errno.h with the sign changed. On an error nothing
 * has changed. jumplabel_strerror() says what to do about it.
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

/* Records of keys have no instruction, so that files without sites have them, too. */
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
 *   -EINPROGRESS no constructor of the object that the key is in has run: .preinit_array, or a constructor of a library below it
 *   -ELOOP       a static call: that is its own trampoline; keep what static_call_query returns
 */
int jumplabel_enable(struct static_key *_key);
int jumplabel_disable(struct static_key *_key);
int jumplabel_inc(struct static_key *_key);
int jumplabel_dec(struct static_key *_key);
int jumplabel_dec_deferred(struct static_key_deferred *_key);
/* Forbids all further changes of the key. */
int jumplabel_seal(struct static_key *_key);
/* Brings sites that fall through back to the very instruction that the compiler emitted. */
int jumplabel_restore_pristine(struct static_key *_key);

/* Does ahead what the first flip of a process does beside flipping: registers it for membarrier (milliseconds, where there are
   threads), lists the sites of all objects that are loaded, tries what writes code. Not needed; for programs whose first flip
   comes when there is no time. Once more in a child of fork, and after dlopen. -EACCES, -ENOENT: flips would fail.
   It also patches sites of keys defined by DEFINE_STATIC_KEY_*_OR_LOAD() that load and are to fall through; jumplabel_prepare_key() patches those
   of one key only, and returns how many. jumplabel_loading() returns how many sites of the process load now. */
int jumplabel_prepare(void);
long jumplabel_prepare_key(struct static_key *_key);
long jumplabel_loading(void);

/* Looks at the sites of all keys, static calls and modes, or of one key, and brings back those that something else has changed: a probe that was removed, code that was read
   again from its file. How many there were; or an error, as of jumplabel_enable(): -EADDRINUSE if a probe is still there. Costs a read of each site. */
long jumplabel_verify(void);
long jumplabel_verify_key(struct static_key *_key);

/* What an error of this library means and what to do about it. Static text. */
const char *jumplabel_strerror(int _error);

/* The struct static_key of a key of any type, for the functions above: jumplabel_enable(jumplabel_key(&trace)). */
#define jumplabel_key(x)                                                                                               \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_ANY_(x);                                                                              \
		jumplabel_variable_(JUMPLABEL_IN_MODULE_(x));                                                          \
	})

/* ---- Transactions ----------------------------------------------------------------------------------------------- */

/* Changes of several keys, in an array of any length: all or nothing, with one interrupt of the other processors, or three. If
   a key is named twice, the last change wins. The library's list is made before the lock is taken: on the stack, and from the
   33rd change on in memory of its own, never by malloc(). -EINVAL: one of them has no key, or there is no array. */
struct jumplabel_change {
	struct static_key *key;
	bool enable;
};

int jumplabel_set_all(const struct jumplabel_change *_changes, size_t _count);

/* The same for keys, static calls and modes together:
 *
 *     struct jumplabel_request requests[] = {
 *         jumplabel_request_key(&checked.key, true),
 *         jumplabel_request_call(step, careful),              as static_call_update(step, careful)
 *         jumplabel_request_mode(&policy, 2),
 *     };
 *     int error = jumplabel_commit(requests, 3);
 *
 * While it runs, a thread may meet some sites in their new and others in their old state. -EINVAL also: NULL for a static call that must
 * lead somewhere, a mode that there is not. All members are the library's. */
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

/* Called wherever Linux has a WARN, and where a function without a result fails. `_message` lives as long as the call.
   jump_label_lock() may be held: then jump_label_lock() in the hook is refused, and calls the hook again, and so on. */
typedef void (*jumplabel_warn_fn)(const char *_message, void *_data);

/* Sets the hook; NULL: one line on standard error, which is the default. */
void jumplabel_set_warn(jumplabel_warn_fn _hook, void *_data);

/* ---- Functions that hear of flips ------------------------------------------------------------------------------- */

/* Who asked: the program; the variable JUMPLABEL; an operator, as the user `uid`; an agent, which takes back what an operator asked for a while. */
enum { JUMPLABEL_BY_PROGRAM, JUMPLABEL_BY_STARTUP, JUMPLABEL_BY_OPERATOR, JUMPLABEL_BY_REVERT };

struct jumplabel_changed {
	/* What has changed: a key, or a mode. The other one is NULL. */
	struct static_key *key;
	struct static_mode *mode;
	/* What it became: of a key 1 or 0, of a mode its number. Another thread may have changed it since. */
	int state;
	int by;
	unsigned int uid;
};

/* Called in the thread that flips, when the flip has committed, without the library's lock, before the function that flips returns; once for each
   key that went on or off. `_changed` lives as long as the call. The function may flip: such a flip is told in a call inside this one, and the ninth
   inside of each other is refused (-EDEADLK). It may wait for other threads that flip. It must not end the thread, which must not be cancelled
   meanwhile; no exception may leave it, and no longjmp(). Calls for flips of different threads may overlap: a function that keeps a copy reads
   static_key_enabled(), under a lock of its own. */
typedef void (*jumplabel_changed_fn)(const struct jumplabel_changed *_changed, void *_data);

/* Has `_told` called whenever the key has changed; NULL: any key or mode. Returns a number above 0, or an error. Costs a lock. Not for signal
   handlers; but what is flipped in one is told there.   -ENOMEM also: 64 functions are registered.   -EINVAL also: `_told` is NULL. */
int jumplabel_on_change(const struct static_key *_key, jumplabel_changed_fn _told, void *_data);

/* No call of that function begins any more. Never waits: returns how many still run, this one included, if it is called in one. Call it again until
   it returns 0, before what the function uses is freed, or its library is closed. */
long jumplabel_on_change_remove(int _number);

/* ---- Introspection ---------------------------------------------------------------------------------------------- */

struct jumplabel_site {
	const void *address;
	/* Where it jumps to when it jumps. */
	const void *target;
	/* What the check yields where execution falls through: true for static_branch_likely(). */
	bool arm;
	/* The instruction now. */
	unsigned char size;
	unsigned char bytes[14];
	/* "nop", "test", "jump"; "load": a jump to a stub that loads the key; NULL where something else wrote there. */
	const char *state;
};

/* Calls `_visit` (NULL: nothing) for each site of the key, after the lock is released: it may flip. How many there are, or an
   error. No exception may leave `_visit`, nor the warning hook. */
long jumplabel_for_each_site(const struct static_key *_key, void (*_visit)(const struct jumplabel_site *_site, void *_data),
			     void *_data);

/* Lets a key be listed, and operators choose it by name: beside the definition of a key with a type, because that definition is one
 * variable, as in Linux, and may stand behind `static`, or in a structure:
 *
 *     static DEFINE_STATIC_KEY_FALSE(trace);
 *     RECORD_STATIC_KEY(trace, "net.trace");
 *     static DEFINE_STATIC_KEY_ARRAY_TRUE(hooks, 4);
 *     RECORD_STATIC_KEY_ARRAY(hooks, "");            listed as hooks[0] ... hooks[3]
 *     RECORD_STATIC_KEY(config.verify, "");
 *
 * The path is the place as it is written; "" as the name: the path is the name. Outside of functions. Costs 40 bytes of constants
 * and the texts. In a file that defines JUMPLABEL_FALLBACK, too, where there could be sites; elsewhere nothing. */
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

/* A key with a record: Rust's macros leave one, RECORD_STATIC_KEY, naked keys, and tracepoints, whose name is the key's. The texts are not
   terminated. `name` is what the declaration gives, else the path; the path begins with the module. */
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
	/* The element of an array, -1 for a single key. */
	int element;
	size_t sites;
};

long jumplabel_for_each_key(void (*_visit)(const struct jumplabel_key_info *_info, void *_data), void *_data);

/* A static call, or a mode: of Rust's declarations and of C's, but for those that a file defines with JUMPLABEL_FALLBACK. The texts are as
   of keys; a path of C's is the name. `sites`: trampolines, or switches. Otherwise as jumplabel_for_each_key(). */
struct jumplabel_call_info {
	struct static_call_key *call;
	/* Where it leads; NULL: where it led first. */
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
	/* The mode now, and how many there are. */
	int number;
	int arms;
	size_t sites;
};

long jumplabel_for_each_call(void (*_visit)(const struct jumplabel_call_info *_info, void *_data), void *_data);
long jumplabel_for_each_mode(void (*_visit)(const struct jumplabel_mode_info *_info, void *_data), void *_data);

/* Picks what writes code from now on: "procmem", "mprotect", "remap", or "auto" or NULL for the automatic choice.
   -ENOENT: none of these. */
int jumplabel_set_writer(const char *_name);

JUMPLABEL_C_END_

#endif
