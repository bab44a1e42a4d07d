/* A function with a check whose arm is one call: prints the number of bytes before the check. With -DPLAIN, the arm's code is in the function. */
#include <jumplabel.h>
#include <jumplabel/jump_label.h>
#include <stdint.h>
#include <stdio.h>

static DEFINE_STATIC_KEY_FALSE(audits);

#ifndef ARM
#define ARM __attribute__((cold, noinline))
#endif

#ifdef PLAIN
#define audit(x, y) printf("%ld + %ld\n", x, y)
#else
ARM static void audit(long x, long y)
{
	printf("%ld + %ld\n", x, y);
}
#endif

__attribute__((noinline)) static long add(long x, long y)
{
	if (static_branch_unlikely(&audits))
		audit(x, y);
	return x + y;
}

static void visit(const struct jumplabel_site *site, void *data)
{
	(void)data;
	/* The first byte of the site is its prefix. */
	printf("%ld\n", (long)((uintptr_t)site->address - (uintptr_t)add) - 1);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (add(argc, 2) != 3 || add(argc, argc) != 2 || jumplabel_for_each_site(&audits.key, visit, NULL) != 1)
		return 1;
	static_branch_enable(&audits);
	return add(argc, 3) != 4;
}
