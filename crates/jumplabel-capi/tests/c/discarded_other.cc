/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "discarded.h"

DEFINE_STATIC_MODE(way, 3, 0);
/* A key that is never flipped. Its only site is in a function that nobody calls. */
DEFINE_STATIC_KEY_FALSE(never_flipped);

int other_in_line(int number)
{
	return in_line(number);
}

int other_of_short()
{
	return of<short>::check();
}

int other_of_double()
{
	return of<double>::check();
}

int nobody_calls_this();
int nobody_calls_this()
{
	return static_branch_unlikely(&never_flipped) ? 1 : static_branch_unlikely(&shared) ? 2 : 3;
}
