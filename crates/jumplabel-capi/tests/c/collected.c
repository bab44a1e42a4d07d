/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A file with one function that is called and one that is not. Another file (GONE) has only a function that is not called. The program prints the
 * number of entries in its table.
 */
#include <stdio.h>

#include "check.h"
#include "objects.h"

#ifdef GONE
DECLARE_STATIC_KEY_FALSE(key);
int gone(int x);
int gone(int x)
{
	return static_branch_unlikely(&key) ? x + 3 : x;
}
#else
DEFINE_STATIC_KEY_FALSE(key);
/* This is first and not static, because GNU ld keeps the function to which the first entry is tied. */
int live(int x);
__attribute__((noinline)) int live(int x)
{
	return static_branch_unlikely(&key) ? x + 1 : x;
}
int dead(int x);
int dead(int x)
{
	return static_branch_unlikely(&key) ? x + 2 : x;
}
int main(void)
{
	CHECK(live(1) == 1);
	static_branch_enable(&key);
	CHECK(live(1) == 2);
	printf("%d\n", (int)site_count());
	return 0;
}
#endif
