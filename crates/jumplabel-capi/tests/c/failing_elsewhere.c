/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The other file of tests/c/failing.c. */
#include <jumplabel.h>

#include "failing.h"

int shared_elsewhere(void)
{
	return shared(0);
}
