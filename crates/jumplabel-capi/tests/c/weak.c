/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sites of undefined weak keys and of NULL, as in a program at a fixed address. They stay as compiled; flips of such a key are refused, and flips of
 * all other keys work. Prints "ok".
 */
#include "check.h"

#include <errno.h>

extern __attribute__((weak)) struct static_key_false nobody_defines;
/* Undefined, too: a structure with a key in it. */
struct options {
	long before;
	struct static_key_true key;
};
extern __attribute__((weak)) struct options no_options;
static DEFINE_STATIC_KEY_FALSE(key);
static DEFINE_STATIC_KEY_TRUE(other);

/* A site whose key is at address 0. It is written in assembler, because not every compiler accepts it in C. */
#ifdef ABSOLUTE
__asm__(".pushsection .text\nsite_of_null:\n.byte 0x0f, 0x1f, 0x44, 0, 0\nret\n.popsection\n"
	".pushsection __jump_table, \"a\", @progbits\n.balign 4\n"
	".long site_of_null - ., site_of_null - ., 0 - ., 0\n.popsection\n");
#endif

int main(void)
{
	jumplabel_set_warn(note_warning, NULL);
	CHECK(!&nobody_defines && !static_branch_unlikely(&nobody_defines));
	CHECK(!&no_options && static_branch_unlikely(&no_options.key));
	for (int round = 0; round < 2; round++) {
		CHECK(jumplabel_enable(&key.key) == 0);
		static_branch_disable(&other);
		CHECK(static_branch_unlikely(&key) && !static_branch_likely(&other));
		static_branch_disable(&key);
		static_branch_enable(&other);
		CHECK(!static_branch_unlikely(&key) && static_branch_likely(&other));
		CHECK(jumplabel_enable(&nobody_defines.key) == -EINVAL);
		CHECK(!static_branch_unlikely(&nobody_defines));
	}
	printf("ok\n");
	return 0;
}
