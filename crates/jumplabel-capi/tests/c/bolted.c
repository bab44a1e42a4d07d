/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program that llvm-bolt rewrites. It is compiled as C and as C++.
 *
 *     bolted               the sites are where the program runs them: all flips work
 *     bolted copied        the sites that the library knows are not run: flips are refused, and checks agree with their keys
 *
 * With PLAIN, it has no alternatives and no lock prefixes.
 */
#include "checked.h"

#include <errno.h>
#include <string.h>

#include <jumplabel.h>

static DEFINE_STATIC_KEY_FALSE(off);
static DEFINE_STATIC_KEY_TRUE(on);

__attribute__((noinline)) static int first(void)
{
	return 1;
}

__attribute__((noinline)) static int second(void)
{
	return 2;
}

DEFINE_STATIC_CALL(call, first);

__attribute__((noinline)) static bool is_off_on(void)
{
	if (static_branch_unlikely(&off))
		return true;
	return false;
}

__attribute__((noinline)) static bool is_on_on(void)
{
	if (static_branch_likely(&on))
		return true;
	return false;
}

#if defined(__x86_64__) && !defined(PLAIN)
#define ALTERNATIVES
/* Returns the number of the alternative that is in place. Also has a lock prefix. */
__attribute__((noinline)) static int alternative(void)
{
	int number = 1;

	__asm__ volatile(ALTERNATIVE("movl $1, %0", "movl $2, %0", X86_FEATURE_POPCNT) : "=r"(number));
	__asm__ volatile(LOCK_PREFIX "orl $0, %0" : "+m"(number));
	return number;
}
#endif

static int warnings;

static void warned(const char *message, void *data)
{
	(void)data;
	warnings += strstr(message, "BOLT") != NULL;
}

static void agree(void)
{
	CHECK(is_off_on() == static_key_enabled(&off) && is_on_on() == static_key_enabled(&on));
}

int main(int argc, char **argv)
{
	int expected = argc > 1 && !strcmp(argv[1], "copied") ? -ENOEXEC : 0;

	jumplabel_set_warn(warned, NULL);
	agree();
	CHECK(jumplabel_prepare() == expected);
	CHECK(jumplabel_enable(jumplabel_key(&off)) == expected);
	agree();
	CHECK(jumplabel_disable(jumplabel_key(&on)) == expected);
	agree();
#ifdef ALTERNATIVES
	CHECK(jumplabel_alternatives_apply() == expected);
	CHECK(alternative() == (expected ? 1 : 2));
	CHECK(jumplabel_up_enter() == expected);
	CHECK(jumplabel_up_leave() == 0);
#endif
	CHECK(static_call(call)() == 1);
	static_call_update(call, second);
	CHECK(warnings == !!expected);
	CHECK(static_call(call)() == (expected ? 1 : 2));
	CHECK(static_key_enabled(&off) == !expected && static_key_enabled(&on) == !!expected);
	puts("ok");
	return 0;
}
