/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Flips before any constructor has run are refused, with an error that says so. Afterwards all flips work. */
#include "check.h"

#include <errno.h>

static DEFINE_STATIC_KEY_FALSE(key);
static int ran, early, prepared, enabled;

static void before_all(void)
{
	ran = 1;
	early = jumplabel_enable(jumplabel_key(&key));
	prepared = jumplabel_prepare();
	enabled = static_key_enabled(&key);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_all;

int main(void)
{
	CHECK(ran && early == -EINPROGRESS && prepared == -EINPROGRESS && !enabled);
	CHECK(strstr(jumplabel_strerror(early), "constructor"));
	CHECK(!static_branch_unlikely(&key));
	STEP(static_branch_enable(&key));
	CHECK(static_branch_unlikely(&key));
	STEP(static_branch_disable(&key));
	CHECK(!static_branch_unlikely(&key));
	puts("ok");
	return 0;
}
