/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The keys of base.c: "another module". */
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
#ifdef __cplusplus
}
#endif

#endif
