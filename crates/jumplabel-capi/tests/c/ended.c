/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built three times: a library that calls a function in its destructor (LAST), one with a key and its site, which uses the first (KEY), so that
 * the destructors of the second have run by then, and a program. Prints "ok" at the end of the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void (*at_the_end)(void);

#if defined(LAST)
void (*at_the_end)(void);

__attribute__((destructor)) static void end(void)
{
	at_the_end();
}
#elif defined(KEY)
#include <jumplabel.h>

static DEFINE_STATIC_KEY_FALSE(key);

__attribute__((noinline)) static int check(void)
{
	return static_branch_unlikely(&key) ? 1 : 0;
}

static void flip(void)
{
	static_branch_enable(&key);
	if (static_key_enabled(&key) != check())
		_exit(2);
	static_branch_disable(&key);
	if (static_key_enabled(&key) != check())
		_exit(3);
	puts("ok");
	fflush(stdout);
}

__attribute__((constructor)) static void start(void)
{
	at_the_end = flip;
}
#else
int main(void)
{
	return at_the_end == NULL;
}
#endif
