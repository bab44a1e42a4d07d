/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A shared library with ten sites of a key of the program's. */
#include <jumplabel/jump_label.h>

extern struct static_key_false objects_key;

#define TWO(hits)                                                                                                      \
	if (static_branch_unlikely(&objects_key))                                                                      \
		hits++;                                                                                                \
	if (static_branch_unlikely(&objects_key))                                                                      \
		hits++;

int plugin(void)
{
	int hits = 0;

	TWO(hits) TWO(hits) TWO(hits) TWO(hits) TWO(hits)
	return hits;
}
