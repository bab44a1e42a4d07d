/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library with keys (LIBRARY), and a program that is linked with it, has sites of these keys (unless NO_SITES), and flips them. Prints "ok". */
#include <stdio.h>

#include <jumplabel.h>

DECLARE_STATIC_KEY_FALSE(library_off);
DECLARE_STATIC_KEY_TRUE(library_on);

#define STATE() (static_branch_unlikely(&library_off) | static_branch_likely(&library_on) << 1)

int library_state(void);
void library_flip(void);

#ifdef LIBRARY
DEFINE_STATIC_KEY_FALSE(library_off);
DEFINE_STATIC_KEY_TRUE(library_on);

int library_state(void)
{
	return STATE();
}

void library_flip(void)
{
	static_branch_enable(&library_off);
	static_branch_disable(&library_on);
}
#else
#ifdef NO_SITES
#define OWN library_state()
#else
#define OWN STATE()
#endif

/* With -mcmodel=medium, one of these arrays is far from the key, on one side or the other. */
static DEFINE_STATIC_KEY_ARRAY_FALSE(before, 20000);
#ifdef FAR
char distance[3000000000];
#endif
static DEFINE_STATIC_KEY_ARRAY_FALSE(behind, 20000);

int main(void)
{
	if (OWN != 2 || library_state() != 2)
		return 1;
	library_flip();
	if (OWN != 1 || library_state() != 1)
		return 2;
	static_branch_disable(&library_off);
	static_branch_enable(&library_on);
	if (OWN != 2 || library_state() != 2)
		return 3;
#ifdef FAR
	distance[sizeof(distance) - 1] = 1;
#endif
	static_branch_enable(&before[19999]);
	static_branch_enable(&behind[19999]);
	if (!static_branch_unlikely(&before[19999]) || !static_branch_unlikely(&behind[19999]) || static_branch_unlikely(&behind[0]))
		return 4;
	puts("ok");
	return 0;
}
#endif
