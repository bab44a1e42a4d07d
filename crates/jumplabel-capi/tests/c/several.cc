/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks of keys that several files define. The linker keeps one definition of each key. Prints "ok" at the end. */
#include <cstdio>
#include <cstring>

#include "several.h"

static int all()
{
	int here = 16 * inlined() + state<int>(), there = other();

	return here == there ? here : -1;
}

static int listed_shared, listed_own;

static void see(const struct jumplabel_key_info *info, void *)
{
	listed_shared += info->key == &shared.key;
	listed_own += !std::strncmp(info->name, "several.own", info->name_length);
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
	/* There is one record for the key that both files share, and one for each file's own key. */
	if (jumplabel_for_each_key(see, nullptr) != 3 || listed_shared != 1 || listed_own != 2) {
		std::printf("listed: %d %d\n", listed_shared, listed_own);
		return 1;
	}
	std::puts("ok");
	return 0;
}
