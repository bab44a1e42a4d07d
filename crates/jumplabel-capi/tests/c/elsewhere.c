/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keys that conformance.c checks from another file of the same object. */
#include <jumplabel.h>

DEFINE_STATIC_NAKED_KEY_FALSE(naked_elsewhere);
DEFINE_STATIC_KEY_FALSE_OR_LOAD(load_elsewhere);
