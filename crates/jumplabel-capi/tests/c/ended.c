/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built three times: a library whose destructor calls a function (LAST); a library with a key and its site, which depends on the first one, so that
 * its own destructors have already run then (KEY); and a program. Prints "ok" at the end of the process.
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
