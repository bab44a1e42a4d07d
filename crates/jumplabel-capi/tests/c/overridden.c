/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A weak key. The linker takes the key of overriding.c instead. Prints "ok" at the end. */
#include <stdio.h>

#include <jumplabel.h>

__attribute__((weak)) DEFINE_STATIC_KEY_FALSE(weak);
__attribute__((weak)) DEFINE_STATIC_KEY_FALSE_OR_LOAD(loads);
int elsewhere(void);

static int here(void)
{
	return static_branch_unlikely(&weak) + 2 * static_branch_unlikely(&loads);
}

int main(void)
{
	int off = 4 * here() + elsewhere(), on;

	static_branch_enable(&weak);
	static_branch_enable(&loads);
	on = 4 * here() + elsewhere();
	if (off != 0 || on != 15) {
		printf("%d %d\n", off, on);
		return 1;
	}
	puts("ok");
	return 0;
}
