/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sites that may have two bytes (-DJUMPLABEL_SHORT): their state in a constructor, after flips, and their number. The compiler takes an arm that
 * calls a cold function for unlikely.
 */
#include "check.h"

DEFINE_STATIC_KEY_FALSE(off);
DEFINE_STATIC_KEY_TRUE(on);

__attribute__((noinline, cold)) static int far_away(void)
{
	__asm__ __volatile__("");
	return 3;
}

__attribute__((noinline)) static int likely_off(void)
{
	return static_branch_likely(&off) ? 1 : 2;
}

__attribute__((noinline)) static int unlikely_off(void)
{
	return static_branch_unlikely(&off) ? 1 : 2;
}

__attribute__((noinline)) static int likely_on(void)
{
	return static_branch_likely(&on) ? 1 : 2;
}

__attribute__((noinline)) static int unlikely_on(void)
{
	return static_branch_unlikely(&on) ? 1 : 2;
}

__attribute__((noinline)) static int cold_arm(void)
{
	if (static_branch_unlikely(&off))
		return far_away();
	return 2;
}

static int all(void)
{
	return likely_off() * 10000 + unlikely_off() * 1000 + likely_on() * 100 + unlikely_on() * 10 + cold_arm();
}

static int seen;

__attribute__((constructor)) static void before_main(void)
{
	seen = all();
}

int main(void)
{
	CHECK(seen == 22112);
	check_text(__LINE__);
	for (int round = 0; round < 3; round++) {
		CHECK(all() == 22112);
		static_branch_enable(&off);
		check_text(__LINE__);
		CHECK(all() == 11113);
		static_branch_disable(&on);
		check_text(__LINE__);
		CHECK(all() == 11223);
		static_branch_disable(&off);
		static_branch_enable(&on);
		check_text(__LINE__);
	}
	printf("short %zu of %zu\n", short_count(), site_count());
	return 0;
}
