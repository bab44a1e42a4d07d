/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * <jumplabel/site_macros.h>: a program of three files, one for each PART, the first of which may be a library. They may be compiled in different
 * ways. Prints "ok" at the end.
 */
#include <stdio.h>

#define JUMPLABEL_ALLOW_DEPRECATED
#define JUMPLABEL_KERNEL_NAMES
#include <jumplabel.h>

DECLARE_STATIC_KEY_FALSE(here);
DECLARE_STATIC_KEY_TRUE_OR_LOAD(loads);
int first(void);
int second(void);
int third(void);
void flip(void);

#if PART == 1
DEFINE_STATIC_KEY_FALSE(here);
DEFINE_STATIC_KEY_TRUE_OR_LOAD(loads);
static struct static_key raw = STATIC_KEY_INIT_TRUE;

int first(void)
{
	return static_branch_unlikely(&here) + 2 * static_branch_likely(&loads) + 4 * static_branch_unlikely(&loads) +
	       8 * static_key_true(&raw) + 16 * static_key_false(&raw) + 32 * arch_static_branch_jump(&raw, 1) +
	       64 * arch_static_branch(&raw, 0);
}

void flip(void)
{
	static_branch_enable(&here);
	static_branch_disable(&loads);
	static_key_disable(&raw);
}
#elif PART == 2
static DEFINE_STATIC_KEY_ARRAY_TRUE(own, 3);

int second(void)
{
	return static_branch_likely(&here) + 2 * static_branch_unlikely(&own[2]) + 4 * static_branch_likely(&loads);
}
#else
int third(void)
{
	return static_branch_unlikely(&here) + 2 * static_branch_unlikely(&loads);
}

int main(void)
{
	int before[] = { first(), second(), third() };
	int after[3];

	flip();
	after[0] = first();
	after[1] = second();
	after[2] = third();
	if (before[0] != 94 || before[1] != 6 || before[2] != 2 || after[0] != 33 || after[1] != 3 || after[2] != 1) {
		printf("%d %d %d, then %d %d %d\n", before[0], before[1], before[2], after[0], after[1], after[2]);
		return 1;
	}
	puts("ok");
	return 0;
}
#endif
