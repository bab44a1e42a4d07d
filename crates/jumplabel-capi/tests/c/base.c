/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Eight keys and a call. A constructor inverts four of the keys, and updates the call. It runs before all others, when the library does not know the
 * sites of the rest of the program.
 */
#define JUMPLABEL_ALLOW_DEPRECATED
#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct static_key base_old_true_key = STATIC_KEY_INIT_TRUE;
struct static_key base_inv_old_true_key = STATIC_KEY_INIT_TRUE;
struct static_key base_old_false_key = STATIC_KEY_INIT_FALSE;
struct static_key base_inv_old_false_key = STATIC_KEY_INIT_FALSE;
DEFINE_STATIC_KEY_TRUE(base_true_key);
DEFINE_STATIC_KEY_TRUE(base_inv_true_key);
DEFINE_STATIC_KEY_FALSE(base_false_key);
DEFINE_STATIC_KEY_FALSE(base_inv_false_key);

int base_add(int x)
{
	return x + 100;
}

int base_negate(int x)
{
	return -x;
}

DEFINE_STATIC_CALL(base_call, base_add);
EXPORT_STATIC_CALL(base_call);
DEFINE_STATIC_CALL(base_inv_call, base_add);
EXPORT_STATIC_CALL_GPL(base_inv_call);
DEFINE_STATIC_CALL(base_tramp_call, base_add);
EXPORT_STATIC_CALL_TRAMP_GPL(base_tramp_call);

int call_from_base(int x)
{
	return static_call(base_call)(x);
}

DEFINE_TRACE(based, TP_PROTO(int x), TP_ARGS(x));

void trace_from_base(int x)
{
	trace_based(x);
}

static void invert(struct static_key *key)
{
	if (static_key_enabled(key))
		static_key_disable(key);
	else
		static_key_enable(key);
}

__attribute__((constructor(101))) static void invert_some(void)
{
	invert(&base_inv_old_true_key);
	invert(&base_inv_old_false_key);
	invert(&base_inv_true_key.key);
	invert(&base_inv_false_key.key);
	static_call_update(base_inv_call, base_negate);
}

#ifdef __cplusplus
}
#endif
