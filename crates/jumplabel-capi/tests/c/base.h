/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The keys, calls and the tracepoint of base.c, which stands for another module. */
#ifndef BASE_H
#define BASE_H

#include <jumplabel.h>

#ifdef __cplusplus
extern "C" {
#endif
extern struct static_key base_old_true_key, base_inv_old_true_key, base_old_false_key, base_inv_old_false_key;
DECLARE_STATIC_KEY_TRUE(base_true_key);
DECLARE_STATIC_KEY_TRUE(base_inv_true_key);
DECLARE_STATIC_KEY_FALSE(base_false_key);
DECLARE_STATIC_KEY_FALSE(base_inv_false_key);

int base_add(int x);
int base_negate(int x);
DECLARE_STATIC_CALL(base_call, base_add);
DECLARE_STATIC_CALL(base_inv_call, base_add);
DECLARE_STATIC_CALL(base_tramp_call, base_add);
int call_from_base(int x);
DECLARE_TRACE(based, TP_PROTO(int x), TP_ARGS(x));
void trace_from_base(int x);
#ifdef __cplusplus
}
#endif

#endif
