/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keys of C, which have no records, an array of them, and a static call. */
#include <jumplabel.h>

#include <stdio.h>

DEFINE_STATIC_KEY_FALSE(trace);
DEFINE_STATIC_KEY_TRUE(fsync_all);
DEFINE_STATIC_KEY_ARRAY_FALSE(hooks, 3);

int plain(int number);
int plain(int number)
{
	return number + 1;
}

int other(int number);
int other(int number)
{
	return number + 2;
}

DEFINE_STATIC_CALL(hash, plain);

__attribute__((noinline)) int receive(int number);
int receive(int number)
{
	if (static_branch_unlikely(&trace))
		puts("trace");
	if (static_branch_likely(&fsync_all))
		puts("fsync");
	if (static_branch_unlikely(&fsync_all))
		puts("again");
	if (static_branch_unlikely(&hooks[1]))
		puts("hook");
	return static_call(hash)(number);
}

#ifdef UP
static struct up_atomic32 packets;
int count(void);
__attribute__((noinline)) int count(void)
{
	return (int)up_fetch_add32(&packets, 1);
}
#endif

#ifdef ENTRY
int entered(void);
__attribute__((noinline)) int entered(void)
{
	return static_branch_unlikely(&trace);
}
#endif

/* With an argument, it waits for a byte, or for the end of its input. */
int main(int argc, char **argv)
{
	int result = receive(0);

	(void)argv;
	if (argc > 1 && fflush(NULL) == 0)
		result = scanf("%*c");
	return result;
}
