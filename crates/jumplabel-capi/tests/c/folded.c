/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two functions with the same code, except for the key that they check. A linker that folds identical code must not fold these. */
#include "check.h"

static DEFINE_STATIC_KEY_FALSE(first);
static DEFINE_STATIC_KEY_FALSE(second);

__attribute__((noinline)) static int check_first(void)
{
	if (static_branch_unlikely(&first))
		return 11;
	return 22;
}

__attribute__((noinline)) static int check_second(void)
{
	if (static_branch_unlikely(&second))
		return 11;
	return 22;
}

int main(void)
{
	jumplabel_set_warn(note_warning, NULL);
	CHECK(site_count() == 2);
	STEP(static_branch_enable(&first));
	CHECK(check_first() == 11 && check_second() == 22);
	STEP(static_branch_disable(&first); static_branch_enable(&second));
	CHECK(check_first() == 22 && check_second() == 11);
	puts("ok");
	return 0;
}
