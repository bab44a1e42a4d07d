/* A function with three checks, for gcc's estimate of its size. With -DBARE, it has no checks. */
#include <jumplabel/jump_label.h>

extern struct static_key_false checks;
__attribute__((cold, noreturn)) void failed(int line);
int estimated(const int *numbers, int n);

#ifdef BARE
#define CHECK(condition) ((void)0)
#else
#define CHECK(condition) ((void)(static_branch_unlikely(&checks) && ((condition) || (failed(__LINE__), 0))))
#endif

int estimated(const int *numbers, int n)
{
	CHECK(numbers != 0);
	CHECK(n > 3);
	CHECK(numbers[0] > numbers[1]);
	return numbers[n];
}
