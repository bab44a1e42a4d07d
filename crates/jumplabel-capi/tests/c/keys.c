/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library of keys that other objects check. */
#include "objects.h"

DEFINE_STATIC_KEY_FALSE(library_off);
DEFINE_STATIC_KEY_TRUE(library_on);
DEFINE_STATIC_KEY_DEFERRED_FALSE(library_late, 1000000);
