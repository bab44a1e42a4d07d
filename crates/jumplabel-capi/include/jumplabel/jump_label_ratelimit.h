/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Keys with a deferred dec: however often the last user leaves and comes back, the code is rewritten at most once per interval. Until the interval
 * has passed, the count stays 1, and further deferred decs do nothing. Linux counts the interval in jiffies; here it is in milliseconds (HZ = 1000).
 *
 * A due dec only ever counts off the user that has left: an inc is counted in addition; static_branch_enable() takes the place of that user;
 * static_branch_disable() and sealing count it off at once.
 */
#ifndef JUMPLABEL_JUMP_LABEL_RATELIMIT_H
#define JUMPLABEL_JUMP_LABEL_RATELIMIT_H

#include "jump_label.h"

JUMPLABEL_C_BEGIN_

/* The library's data: when the dec is due, and whether and where the key is on a list. */
struct jumplabel_due_ {
	uint64_t _due;
	bool _listed;
	void *_next;
};

/* `_timeout` is in nanoseconds; jump_label_rate_limit() and the macros below take milliseconds. */
#define JUMPLABEL_DEFERRED_KEY_(tag, type)                                                                             \
	struct tag {                                                                                                   \
		struct type key;                                                                                       \
		uint64_t _timeout;                                                                                     \
		JUMPLABEL_STRUCT_ jumplabel_due_ _work;                                                                \
	}
JUMPLABEL_DEFERRED_KEY_(static_key_deferred, static_key);
JUMPLABEL_DEFERRED_KEY_(static_key_true_deferred, static_key_true);
JUMPLABEL_DEFERRED_KEY_(static_key_false_deferred, static_key_false);

#define JUMPLABEL_NANOSECONDS_(milliseconds) (JUMPLABEL_STATIC_CAST_(uint64_t, milliseconds) * 1000000)

#define DEFINE_STATIC_KEY_DEFERRED_TRUE(name, rl)                                                                      \
	JUMPLABEL_STRUCT_ static_key_true_deferred name = { JUMPLABEL_TRUE_INIT_, JUMPLABEL_NANOSECONDS_(rl), { 0, false, JUMPLABEL_NULL_ } }
#define DEFINE_STATIC_KEY_DEFERRED_FALSE(name, rl)                                                                     \
	JUMPLABEL_STRUCT_ static_key_false_deferred name = { JUMPLABEL_FALSE_INIT_, JUMPLABEL_NANOSECONDS_(rl), { 0, false, JUMPLABEL_NULL_ } }

/* The macros below call these functions. */
void __static_key_slow_dec_deferred(struct static_key_deferred *_key);
void __static_key_deferred_flush(struct static_key_deferred *_key);

#ifdef __cplusplus
extern "C++" {
template <class _pointer> struct jumplabel_deferred_ {
	static constexpr bool _typed = false, _untyped = false;
};
template <> struct jumplabel_deferred_<static_key_deferred *> {
	static constexpr bool _typed = false, _untyped = true;
};
template <> struct jumplabel_deferred_<static_key_true_deferred *> {
	static constexpr bool _typed = true, _untyped = false;
};
template <> struct jumplabel_deferred_<static_key_false_deferred *> {
	static constexpr bool _typed = true, _untyped = false;
};
} /* extern "C++" */
#define JUMPLABEL_IS_TYPED_DEFERRED_(x) (jumplabel_deferred_<decltype(jumplabel_value_(x))>::_typed)
#define JUMPLABEL_IS_DEFERRED_(x)                                                                                      \
	(JUMPLABEL_IS_TYPED_DEFERRED_(x) || jumplabel_deferred_<decltype(jumplabel_value_(x))>::_untyped)
#else
#define JUMPLABEL_IS_TYPED_DEFERRED_(x)                                                                                \
	_Generic((x), struct static_key_true_deferred *: 1, struct static_key_false_deferred *: 1, default: 0)
#define JUMPLABEL_IS_DEFERRED_(x)                                                                                      \
	(JUMPLABEL_IS_TYPED_DEFERRED_(x) || _Generic((x), struct static_key_deferred *: 1, default: 0))
#endif

#define JUMPLABEL_DEFERRED_(x, condition)                                                                              \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_(condition(x),                                                                        \
				  "this takes the address of a static key with a deferred dec: &key, not key");        \
		jumplabel_deferred_variable_(x);                                                                       \
	})
static __inline__ struct static_key_deferred *jumplabel_deferred_variable_(void *_key)
{
	return JUMPLABEL_STATIC_CAST_(struct static_key_deferred *, _key);
}

/* Removes one user. The last user leaves when the interval has passed. */
#define static_key_slow_dec_deferred(x) __static_key_slow_dec_deferred(JUMPLABEL_DEFERRED_(x, JUMPLABEL_IS_DEFERRED_))
#define static_branch_slow_dec_deferred(x)                                                                             \
	__static_key_slow_dec_deferred(JUMPLABEL_DEFERRED_(x, JUMPLABEL_IS_TYPED_DEFERRED_))
/* Carries out a due dec at once. Call it before the key's object is unloaded. */
#define static_key_deferred_flush(x) __static_key_deferred_flush(JUMPLABEL_DEFERRED_(x, JUMPLABEL_IS_DEFERRED_))
#define static_branch_deferred_inc(x) static_branch_inc(&(x)->key)

/* Sets the interval, in milliseconds. */
static __inline__ void jump_label_rate_limit(struct static_key_deferred *_key, unsigned long _rl)
{
	_key->_timeout = _rl * UINT64_C(1000000);
}

JUMPLABEL_C_END_

#endif
