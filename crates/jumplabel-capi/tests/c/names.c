/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that are not ASCII, around which clang writes quotes in assembler. Prints "ok" at the end. */
#include "check.h"

DEFINE_STATIC_KEY_FALSE(größe);
DEFINE_STATIC_KEY_TRUE_OR_LOAD(ключ);
RECORD_STATIC_KEY(größe, "names");
struct {
	int first;
	struct static_key_false keys[2];
} größen = { 0, { STATIC_KEY_FALSE_INIT, STATIC_KEY_FALSE_INIT } };
DEFINE_STATIC_MODE(режим, 3, 1);

static int state(void)
{
	return static_branch_unlikely(&größe) + 2 * static_branch_likely(&ключ) + 4 * static_branch_unlikely(&größen.keys[0]) +
	       8 * static_branch_unlikely(&größen.keys[1]) + 16 * static_switch(режим, 3);
}

int main(void)
{
	CHECK(state() == 2 + 16);
	static_branch_enable(&größe);
	CHECK(state() == 3 + 16);
	static_branch_disable(&ключ);
	CHECK(state() == 1 + 16);
	static_branch_enable(&größen.keys[1]);
	CHECK(state() == 9 + 16);
	static_branch_enable(&größen.keys[0]);
	CHECK(state() == 13 + 16);
	CHECK(static_mode_set(режим, 2) == 0);
	CHECK(state() == 13 + 32);
	printf("ok %d\n", checks);
	return 0;
}
