/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Eight keys, four of which are inverted by a constructor that runs before any other: before the sites of the rest of the
 * program are known to the library.
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
}

#ifdef __cplusplus
}
#endif
