/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library with a key, and a function that is called after flips. */
#include <jumplabel.h>

DEFINE_STATIC_KEY_FALSE(of_the_plugin);

static void count(const struct jumplabel_changed *changed, void *data)
{
	*(int *)data += changed->key != NULL;
}

__attribute__((__visibility__("default"))) int hear(int *calls);

int hear(int *calls)
{
	return static_branch_unlikely(&of_the_plugin) ? -1 : jumplabel_on_change(NULL, count, calls);
}
