/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A naked key that conformance.c checks from another file of the same object. */
#include <jumplabel.h>

DEFINE_STATIC_NAKED_KEY_FALSE(naked_elsewhere);
