/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jumplabel.h>

DEFINE_STATIC_KEY_FALSE(weak);
DEFINE_STATIC_KEY_FALSE_OR_LOAD(loads);
int elsewhere(void);

int elsewhere(void)
{
	return static_branch_unlikely(&weak) + 2 * static_branch_unlikely(&loads);
}
