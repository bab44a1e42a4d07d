/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Flips in a library (the second argument) whose code is guarded or not, as the first argument says: "guarded" or "open". Flips must neither remove
 * nor add the guard. Prints which it is.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static sigjmp_buf trapped;

static void handler(int signal)
{
	(void)signal;
	siglongjmp(trapped, 1);
}

/* True if a call through a pointer ends in a trap. */
static int traps(void (*function)(void))
{
	if (sigsetjmp(trapped, 1))
		return 1;
	function();
	return 0;
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[2], RTLD_NOW) : NULL;
	void (*no_pad)(void);
	int (*check)(void), (*flip)(int);
	int guarded;

	if (!library) {
		printf("%s\n", argc == 3 ? dlerror() : "usage: guarding guarded|open LIBRARY");
		return 2;
	}
	guarded = !strcmp(argv[1], "guarded");
	*(void **)&no_pad = dlsym(library, "guarded_no_pad");
	*(void **)&check = dlsym(library, "guarded_check");
	*(void **)&flip = dlsym(library, "guarded_flip");
	signal(SIGILL, handler);
	if (traps(no_pad) != guarded) {
		printf("is %s from the start\n", guarded ? "not guarded" : "guarded");
		return 3;
	}
	for (int round = 0; round < 6; round++) {
		int on = !(round & 1), result = flip(on);

		if (result < 0 || check() != on) {
			printf("flip: %d\n", result);
			return 4;
		}
		if (traps(no_pad) != guarded) {
			printf("flip %d %s\n", round + 1, guarded ? "took the guard away" : "added a guard");
			return 1;
		}
	}
	printf("stays %s\n", argv[1]);
	return 0;
}
