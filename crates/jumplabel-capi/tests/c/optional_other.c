/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The other file of optional.c's program. */
#include "jumplabel-optional.h"
#include "optional.h"

DEFINE_STATIC_KEY_TRUE(elsewhere);
RECORD_STATIC_KEY(elsewhere, "other.elsewhere");

int is_elsewhere(void)
{
	return static_branch_likely(&elsewhere);
}
