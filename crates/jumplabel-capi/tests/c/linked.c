/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program with sites of keys of a library that it is linked with (by a copy relocation, or with JUMPLABEL_FOREIGN_KEYS). */
#include "objects.h"

#include <stdio.h>

int main(void)
{
	int before = STATE(library_off, library_on), flipped;

	static_branch_enable(&library_off);
	static_branch_disable(&library_on);
	flipped = STATE(library_off, library_on);
	if (before != STATE_DEFAULT || flipped != STATE_FLIPPED)
		return 1;
	printf("ok\n");
	return 0;
}
