/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks of one key in several files, of which each has the key. Prints "ok" at the end. */
#include <cstdio>

#include "several.h"

static int all()
{
	int here = 16 * inlined() + state<int>(), there = other();

	return here == there ? here : -1;
}

int main()
{
	int before = all(), on, off;

	static_branch_enable(&shared);
	static_branch_enable(&of<int>::key);
	on = all();
	static_branch_disable(&loads);
	off = all();
	if (before != 16 * 4 + 12 || on != 16 * 7 + 15 || off != 16 * 3 + 11) {
		std::printf("%d %d %d\n", before, on, off);
		return 1;
	}
	std::puts("ok");
	return 0;
}
