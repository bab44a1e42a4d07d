/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A table with an entry whose site does not exist, as a tool that rewrote the binary might leave it. Flips of its key are refused, with advice, and
 * nothing is patched. Flips of other keys work, unless the entry does not say to which key it belongs (BLOCKS_OTHERS). Without DAMAGE, all flips
 * work. Prints "ok".
 */
#include "check.h"

#include <errno.h>

static DEFINE_STATIC_KEY_FALSE(key);
static DEFINE_STATIC_KEY_FALSE(other);

#ifdef DAMAGE
/* DAMAGE is the four words of an entry, as assembler text. */
__asm__(".pushsection __jump_table, \"a\", @progbits\n.balign 4\n.long " DAMAGE "\n.popsection\n");
#endif

int main(void)
{
	jumplabel_set_warn(note_warning, NULL);
	CHECK(!static_branch_unlikely(&key) && !static_branch_unlikely(&other));
#ifdef DAMAGE
	CHECK(jumplabel_enable(&key.key) == -ENOEXEC && strstr(jumplabel_strerror(-ENOEXEC), "rebuild"));
	last_warning[0] = 0;
	static_branch_enable(&key);
	CHECK(warnings == 1 && strstr(last_warning, "table"));
	CHECK(!static_branch_inc(&key) && warnings == 2);
	CHECK(!static_key_enabled(&key) && !static_branch_unlikely(&key));
#ifdef BLOCKS_OTHERS
	CHECK(jumplabel_enable(&other.key) == -ENOEXEC && !static_branch_unlikely(&other));
#else
	CHECK(jumplabel_enable(&other.key) == 0);
	CHECK(static_branch_unlikely(&other));
#endif
#else
	STEP(CHECK(jumplabel_enable(&key.key) == 0));
	CHECK(static_branch_unlikely(&key));
#endif
	printf("ok\n");
	return 0;
}
