/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* 1,024 checks of each kind with -DCHECKS, or as many pointers to functions with -DPOINTERS, to measure the size of the file. */
#include <jumplabel.h>

#define TIMES_4(...) __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__
#define TIMES_1024(...) TIMES_4(TIMES_4(TIMES_4(TIMES_4(TIMES_4(__VA_ARGS__)))))

static DEFINE_STATIC_KEY_FALSE(key);
static DEFINE_STATIC_KEY_FALSE_OR_LOAD(loads);

#ifdef CHECKS
#define CHECK(key) TIMES_1024(count += static_branch_unlikely(&key);)
#else
#define CHECK(key) count += static_branch_unlikely(&key);
#endif

#ifdef POINTERS
int main(void);
#define POINTER main,
int (*const pointers[])(void) = { TIMES_1024(POINTER) };
#endif

int main(void)
{
	int count = 0;

	CHECK(key)
	CHECK(loads)
	static_branch_enable(&key);
	return count;
}
