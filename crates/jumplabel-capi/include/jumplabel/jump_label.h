/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Static keys: switches that cost one instruction where they are checked. Flipping a key rewrites the code of all its
 * checks, while threads run. The names, types and results are those of Linux; docs/linux-api.md lists them one by one.
 *
 *     static DEFINE_STATIC_KEY_FALSE(trace);
 *
 *     if (static_branch_unlikely(&trace))       one nop, until
 *             print_it();
 *     static_branch_enable(&trace);             makes it a jump, for every thread
 *
 * Costs: a check is one instruction (5 bytes on x86-64, 4 elsewhere) and 16 bytes of read-only table, with no relocation; a
 * flip is a few system calls. The type
 * of the key says how it starts, and with that the first instruction (jump where `starts on != arm`):
 *
 *                    falls through     jumps                        starts off    starts on
 *     likely         true              false                        jump          nop
 *     unlikely       false             true                         nop           jump
 *
 * Where a check fails in Linux with a WARN, and where something is refused that cannot be refused there (the right to
 * write code), these functions call the hook of jumplabel_set_warn() and return what Linux returns. <jumplabel.h> has
 * functions that return errors instead.
 *
 * JUMPLABEL_FALLBACK       checks load, test and jump: for other compilers and architectures, and for comparison
 * JUMPLABEL_LOCAL_KEYS     in code for a shared library: all keys that this file checks are in the same library
 * JUMPLABEL_FOREIGN_KEYS   in code for a program: keys that this file checks may be in a shared library
 * JUMPLABEL_ALLOW_DEPRECATED   no warning for static_key_true() and static_key_false()
 */
#ifndef JUMPLABEL_JUMP_LABEL_H
#define JUMPLABEL_JUMP_LABEL_H

#if defined(__cplusplus) && __cplusplus < 201703L
#error "jumplabel needs C++17 or later (-std=c++17)"
#elif !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "jumplabel needs C11 or later (-std=c11)"
#elif !defined(__GNUC__)
#error "jumplabel needs a compiler that understands GNU C: gcc or clang"
#elif !defined(JUMPLABEL_FALLBACK)
#include "arch.h"
#if !defined(__ELF__) || !defined(__linux__)
#error "jumplabel has sites on Linux only: define JUMPLABEL_FALLBACK for checks that load, test and jump"
#elif defined(__clang__) && __clang_major__ < 16
#error "jumplabel needs clang 16 or later: use that, or define JUMPLABEL_FALLBACK"
#elif !defined(__clang__) && __GNUC__ < 12
#error "jumplabel needs gcc 12 or later: use that, or define JUMPLABEL_FALLBACK"
#endif
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "range.h"

#ifdef __cplusplus
#define JUMPLABEL_ASSERT_(condition, message) static_assert(condition, message)
extern "C" {
#else
#define JUMPLABEL_ASSERT_(condition, message) _Static_assert(condition, message)
#endif

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

#define JUMP_TYPE_FALSE 0U
#define JUMP_TYPE_TRUE 1U

/* A key without its type. `enabled`: 0 off, n > 0 on with n users, other values are the library's. */
struct static_key {
	int enabled;
	unsigned int type;
} __attribute__((aligned(8)));

#define STATIC_KEY_INIT_TRUE { 1, JUMP_TYPE_TRUE }
#define STATIC_KEY_INIT_FALSE { 0, JUMP_TYPE_FALSE }
#define STATIC_KEY_INIT STATIC_KEY_INIT_FALSE

/* Keys whose type says how they start. In C++, they also start so where they are members without an initialiser. */
#ifdef __cplusplus
struct static_key_true {
	struct static_key key = STATIC_KEY_INIT_TRUE;
};
struct static_key_false {
	struct static_key key = STATIC_KEY_INIT_FALSE;
};
#else
struct static_key_true {
	struct static_key key;
};
struct static_key_false {
	struct static_key key;
};
#endif

#define STATIC_KEY_TRUE_INIT { STATIC_KEY_INIT_TRUE }
#define STATIC_KEY_FALSE_INIT { STATIC_KEY_INIT_FALSE }

#define DEFINE_STATIC_KEY_TRUE(name) struct static_key_true name = STATIC_KEY_TRUE_INIT
#define DEFINE_STATIC_KEY_FALSE(name) struct static_key_false name = STATIC_KEY_FALSE_INIT
#define DECLARE_STATIC_KEY_TRUE(name) extern struct static_key_true name
#define DECLARE_STATIC_KEY_FALSE(name) extern struct static_key_false name

/* Keys that jump_label_init_ro() seals. */
#define DEFINE_STATIC_KEY_TRUE_RO(name) struct static_key_true name JUMPLABEL_RO_ = STATIC_KEY_TRUE_INIT
#define DEFINE_STATIC_KEY_FALSE_RO(name) struct static_key_false name JUMPLABEL_RO_ = STATIC_KEY_FALSE_INIT
#define JUMPLABEL_RO_ __attribute__((section("__jump_ro_keys")))

#ifdef __cplusplus
#define DEFINE_STATIC_KEY_ARRAY_TRUE(name, count) struct static_key_true name[count] = {}
#define DEFINE_STATIC_KEY_ARRAY_FALSE(name, count) struct static_key_false name[count] = {}
#else
#define DEFINE_STATIC_KEY_ARRAY_TRUE(name, count)                                                                      \
	struct static_key_true name[count] = { JUMPLABEL_FILL_(count, STATIC_KEY_TRUE_INIT) }
#define DEFINE_STATIC_KEY_ARRAY_FALSE(name, count)                                                                     \
	struct static_key_false name[count] = { JUMPLABEL_FILL_(count, STATIC_KEY_FALSE_INIT) }
#endif

/* Keys that start on if the macro `config` is defined as 1, else off (undefined, 0). */
#define DEFINE_STATIC_KEY_MAYBE(config, name) JUMPLABEL_CHOOSE_(config, DEFINE_STATIC_KEY_TRUE, DEFINE_STATIC_KEY_FALSE)(name)
#define DEFINE_STATIC_KEY_MAYBE_RO(config, name)                                                                       \
	JUMPLABEL_CHOOSE_(config, DEFINE_STATIC_KEY_TRUE_RO, DEFINE_STATIC_KEY_FALSE_RO)(name)
#define DECLARE_STATIC_KEY_MAYBE(config, name)                                                                         \
	JUMPLABEL_CHOOSE_(config, DECLARE_STATIC_KEY_TRUE, DECLARE_STATIC_KEY_FALSE)(name)

/* The second argument where `config` expands to 1, else the third: only then does the probe bring a comma along. */
#define JUMPLABEL_CHOOSE_(config, yes, no) JUMPLABEL_CHOOSE_PROBE_(config, yes, no)
#define JUMPLABEL_CHOOSE_PROBE_(value, yes, no) JUMPLABEL_SECOND_OF_(JUMPLABEL_PROBE_##value yes, no, )
#define JUMPLABEL_PROBE_1 ,
#define JUMPLABEL_SECOND_OF_(...) JUMPLABEL_SECOND_(__VA_ARGS__)
#define JUMPLABEL_SECOND_(first, second, ...) second

/* ---- Types of arguments ----------------------------------------------------------------------------------------- */

#ifdef __cplusplus
extern "C++" { /* Also where the header is included inside of extern "C". */
template <class Pointer> struct jumplabel_polarity_ {
	static constexpr int value = -1;
};
template <> struct jumplabel_polarity_<static_key_true *> {
	static constexpr int value = 1;
};
template <> struct jumplabel_polarity_<static_key_false *> {
	static constexpr int value = 0;
};
template <> struct jumplabel_polarity_<const static_key_true *> : jumplabel_polarity_<static_key_true *> {};
template <> struct jumplabel_polarity_<const static_key_false *> : jumplabel_polarity_<static_key_false *> {};
template <class Pointer> struct jumplabel_untyped_ {
	static constexpr bool value = false;
};
template <> struct jumplabel_untyped_<static_key *> {
	static constexpr bool value = true;
};
template <> struct jumplabel_untyped_<const static_key *> : jumplabel_untyped_<static_key *> {};
} /* extern "C++" */
#define JUMPLABEL_IS_TRUE_(x) (jumplabel_polarity_<decltype((x) + 0)>::value == 1)
#define JUMPLABEL_IS_FALSE_(x) (jumplabel_polarity_<decltype((x) + 0)>::value == 0)
#define JUMPLABEL_IS_UNTYPED_(x) (jumplabel_untyped_<decltype((x) + 0)>::value)
#else
/* `+ 0` makes an array the pointer that it decays to, and takes qualifiers of a variable away. */
#define JUMPLABEL_IS_(x, type)                                                                                         \
	(__builtin_types_compatible_p(__typeof__((x) + 0), type *) ||                                                  \
	 __builtin_types_compatible_p(__typeof__((x) + 0), const type *))
#define JUMPLABEL_IS_TRUE_(x) JUMPLABEL_IS_(x, struct static_key_true)
#define JUMPLABEL_IS_FALSE_(x) JUMPLABEL_IS_(x, struct static_key_false)
#define JUMPLABEL_IS_UNTYPED_(x) JUMPLABEL_IS_(x, struct static_key)
#endif

#define JUMPLABEL_ASSERT_TYPED_(x)                                                                                     \
	JUMPLABEL_ASSERT_(JUMPLABEL_IS_TRUE_(x) || JUMPLABEL_IS_FALSE_(x),                                             \
			  "static_branch_*() takes the address of a struct static_key_true or a struct static_key_false")
#define JUMPLABEL_ASSERT_UNTYPED_(x)                                                                                   \
	JUMPLABEL_ASSERT_(JUMPLABEL_IS_UNTYPED_(x), "static_key_*() takes the address of a struct static_key here")

/* The struct static_key that is, or begins, what a pointer to a key of any of the three types points to. Constant keys can
   be looked at; the compiler complains where one is to be changed. */
#define JUMPLABEL_ASSERT_ANY_(x)                                                                                       \
	JUMPLABEL_ASSERT_(JUMPLABEL_IS_TRUE_(x) || JUMPLABEL_IS_FALSE_(x) || JUMPLABEL_IS_UNTYPED_(x),                 \
			  "this takes the address of a struct static_key, static_key_true or static_key_false")
#define JUMPLABEL_ANY_KEY_(x)                                                                                          \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_ANY_(x);                                                                              \
		(const struct static_key *)(const void *)(x);                                                          \
	})
#define JUMPLABEL_TYPED_KEY_(x)                                                                                        \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_TYPED_(x);                                                                            \
		jumplabel_variable_(x);                                                                                \
	})
static inline struct static_key *jumplabel_variable_(void *key)
{
	return (struct static_key *)key;
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

/* The number of users. One load; safe anywhere. */
static inline int jumplabel_count_(const struct static_key *key)
{
	int word = __atomic_load_n(&key->enabled, __ATOMIC_RELAXED);

	return word == -1 ? 1 : word & 0x7fffffff; /* -1: the last user is leaving. Other negative words: sealed. */
}

#define static_key_count(x) jumplabel_count_(JUMPLABEL_ANY_KEY_(x))
/* Whether the key is on: true after all its sites are on, false after all are off. */
#define static_key_enabled(x) (static_key_count(x) > 0)
#define jump_label_enabled(x) static_key_enabled(x)

/* Whether the key is on, with the code for "on" laid out in line, or the code for "off". `x` is the address of a static
   object, element or member: a constant. Safe anywhere, signal handlers included. */
#define static_branch_likely(x) (__builtin_expect(JUMPLABEL_CHECK_(x, 1), 1) != 0)
#define static_branch_unlikely(x) (__builtin_expect(JUMPLABEL_CHECK_(x, 0), 0) != 0)
#define static_branch_maybe(config, x) JUMPLABEL_CHOOSE_(config, static_branch_likely, static_branch_unlikely)(x)

/* Deprecated: the type does not say how the key starts. Unlike Linux, where the name is wrong about it, the site is put right
   when its object is loaded. */
#define static_key_true(x) (__builtin_expect(JUMPLABEL_CHECK_UNTYPED_(x, 1), 1) != 0)
#define static_key_false(x) (__builtin_expect(JUMPLABEL_CHECK_UNTYPED_(x, 0), 0) != 0)

static inline int jumplabel_direct_use_(void)
#ifndef JUMPLABEL_ALLOW_DEPRECATED
	__attribute__((deprecated("use static_branch_likely() or static_branch_unlikely() with a DEFINE_STATIC_KEY_*() key")))
#endif
	;
static inline int jumplabel_direct_use_(void)
{
	return 0;
}

#ifdef JUMPLABEL_FALLBACK
#define JUMPLABEL_CHECK_(x, arm)                                                                                       \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_TYPED_(x);                                                                            \
		jumplabel_count_((const struct static_key *)(const void *)(x)) != 0;                                   \
	})
#define JUMPLABEL_CHECK_UNTYPED_(x, arm)                                                                               \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_UNTYPED_(x);                                                                          \
		(void)sizeof(jumplabel_direct_use_());                                                                 \
		jumplabel_count_((const struct static_key *)(const void *)(x)) != 0;                                   \
	})
#else
#include "site.h"
#define JUMPLABEL_CHECK_(x, arm)                                                                                       \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_TYPED_(x);                                                                            \
		JUMPLABEL_SITE_(x, arm, JUMPLABEL_IS_TRUE_(x), JUMPLABEL_MARK_FOREIGN_);                               \
	})
#define JUMPLABEL_CHECK_UNTYPED_(x, arm)                                                                               \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_UNTYPED_(x);                                                                          \
		(void)sizeof(jumplabel_direct_use_());                                                                 \
		JUMPLABEL_SITE_(x, arm, arm, JUMPLABEL_MARK_);                                                         \
	})
#endif

/* ---- Changes ---------------------------------------------------------------------------------------------------- */

/*
 * When one of these returns, every check that starts later, on any thread, takes the new arm. enable and disable set the
 * count to 1 and 0 and warn at counts above 1; inc and dec count users. They block while another thread flips. Safe in
 * constructors, destructors and signal handlers; in the middle of a flip by the same thread they warn and do nothing.
 *
 * *_cpuslocked: the caller holds jump_label_lock().
 */
void static_key_enable(struct static_key *key);
void static_key_disable(struct static_key *key);
void static_key_enable_cpuslocked(struct static_key *key);
void static_key_disable_cpuslocked(struct static_key *key);
/* True where the count went up. False after a warning: it is at INT_MAX, or code cannot be written. */
bool static_key_slow_inc(struct static_key *key);
bool static_key_slow_inc_cpuslocked(struct static_key *key);
void static_key_slow_dec(struct static_key *key);
void static_key_slow_dec_cpuslocked(struct static_key *key);
/* One user more of a key that is on and stays on meanwhile; false where it is off or full. Never patches, never blocks. */
bool static_key_fast_inc_not_disabled(struct static_key *key);

#define static_branch_enable(x) static_key_enable(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_disable(x) static_key_disable(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_enable_cpuslocked(x) static_key_enable_cpuslocked(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_disable_cpuslocked(x) static_key_disable_cpuslocked(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_inc(x) static_key_slow_inc(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_dec(x) static_key_slow_dec(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_inc_cpuslocked(x) static_key_slow_inc_cpuslocked(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_dec_cpuslocked(x) static_key_slow_dec_cpuslocked(JUMPLABEL_TYPED_KEY_(x))

/* The lock that flips take: nobody else flips, and no object with sites comes or goes. All signals of the thread are
   blocked meanwhile, and it cannot be cancelled. Nothing under it may call dlopen() or dlclose(). A child of fork() does
   not hold it. */
void jump_label_lock(void);
void jump_label_unlock(void);

/* Whether a site overlaps the bytes from `start` to `end`, both included: 1 or 0. With or without jump_label_lock(). */
int jump_label_text_reserved(const void *start, const void *end);

/* There is no initialisation to forget: keys may be flipped at any time, in constructors too. */
#define static_key_initialized true
#define STATIC_KEY_CHECK_USE(key) ((void)(key))
static inline void jump_label_init(void)
{
}

/* Seals the keys from `start` to `stop`. */
void jumplabel_seal_keys_(struct static_key *start, struct static_key *stop);

/* The linker's. By their own names: gcc forgets that a symbol is hidden where it has another (__asm__). */
extern struct static_key __start___jump_ro_keys[] __attribute__((weak, visibility("hidden")));
extern struct static_key __stop___jump_ro_keys[] __attribute__((weak, visibility("hidden")));

/* Seals the _RO keys of the program or library that calls it: no change of them any more. */
static inline void jump_label_init_ro(void)
{
	jumplabel_seal_keys_(__start___jump_ro_keys, __stop___jump_ro_keys);
}

#ifdef __cplusplus
}
#endif

#endif
