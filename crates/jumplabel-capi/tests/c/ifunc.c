/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flip in an IFUNC resolver, which the loader, or the start of a static program, calls before any constructor: refused. */
#include "check.h"

#include <errno.h>

static DEFINE_STATIC_KEY_FALSE(key);
static int early;

static int five(void)
{
	return 5;
}

__attribute__((__used__)) static int (*resolve(void))(void)
{
	early = jumplabel_enable(jumplabel_key(&key));
	return five;
}

int chosen(void) __attribute__((__ifunc__("resolve")));

int main(void)
{
	CHECK(chosen() == 5 && early == -EINPROGRESS && !static_branch_unlikely(&key));
	STEP(static_branch_enable(&key));
	CHECK(static_branch_unlikely(&key));
	puts("ok");
	return 0;
}
