/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Uses of __builtin_expect that are not checks of probes, with commas of all kinds. The compiler must get them unchanged. */
#include <stdbool.h>
#include <sys/sdt.h>

struct s {
	int has_semaphore;
};

#ifdef __cplusplus
template <class A, class B> static inline int of_types(int n)
{
	return n + static_cast<int>(sizeof(A) * sizeof(B));
}
template <int a_semaphore, int b> static inline int of_numbers(int n)
{
	return n * a_semaphore + b;
}
#define OF_TYPES(n) of_types<int, long>(n)
#endif

int f(struct s *p, int has_semaphore, int n);
int f(struct s *p, int has_semaphore, int n)
{
	int x = 0;

	if (__builtin_expect(p->has_semaphore, 0)) x++;
	if (__builtin_expect(!has_semaphore, 1)) x++;
	if (__builtin_expect(n % 2 == 0, 0)) x++;
	if (__builtin_expect(n&has_semaphore, 0)) x++;
	if (__builtin_expect((n > 1) && __builtin_expect(n % 3, 1), "%[" [0] == '%')) x++;
	if (__builtin_expect(has_semaphore+0, 0)) x++;
	if (__builtin_expect(n, 0)) x++;
#ifdef __cplusplus
	if (__builtin_expect(of_types<int, long>(n), 1)) x++;
	if (__builtin_expect(!of_types<int, long>(n), of_types<char, char>(-1))) x++;
	if (__builtin_expect(of_types<bool, struct s>(__builtin_expect(of_types<int, long>(n), 1)), 0)) x++;
	if (__builtin_expect(OF_TYPES(n), 1)) x++;
	{
		enum { last_semaphore = 3 };
		if (__builtin_expect(of_numbers<last_semaphore, 2>(n), 1)) x++;
	}
#else
	if (__builtin_expect((int[]){ 1, 2 }[n & 1] > 1, 0)) x++;
	if (__builtin_expect(((struct s){ n }).has_semaphore, (int[2]){ 0, 1 }[0])) x++;
#endif
	return x;
}
