/* N-way switches with 2 to 8 modes. The mode with 3 modes is defined in another file. */
#include <errno.h>

#include "checked.h"
#include "switches.h"

DEFINE_STATIC_MODE(two, 2, 1);
DEFINE_STATIC_MODE(four, 4, 0);
DEFINE_STATIC_MODE(five, 5, 4);
DEFINE_STATIC_MODE(six, 6, 2);
DEFINE_STATIC_MODE(seven, 7, 3);
DEFINE_STATIC_MODE(eight, 8, 7);

#define EACH(name, n, first)                                                                                           \
	do {                                                                                                           \
		CHECK(static_switch(name, n) == first && static_mode_get(name) == first);                              \
		for (int from = 0; from < n; from++) {                                                                 \
			for (int to = 0; to < n; to++) {                                                               \
				CHECK(static_mode_set(name, from) == 0 && static_switch(name, n) == from);             \
				CHECK(static_mode_set(name, to) == 0 && static_switch(name, n) == to);                 \
			}                                                                                              \
		}                                                                                                      \
		CHECK(static_mode_set(name, n) == -EINVAL && static_mode_set(name, -1) == -EINVAL);                    \
		CHECK(static_mode_set(name, 256) == -EINVAL && static_switch(name, n) == n - 1);                       \
	} while (0)

static int here(int x)
{
	switch (static_switch(policy, 3)) {
	case 0:
		return x;
	case 1:
		return x + 1;
	case 2:
		break;
	}
	return x + 2;
}

int main(void)
{
	CHECK(here(100) == 101 && switched() == 11);
	for (int time = 0; time < 9; time++) {
		int mode = time * 2 % 3;

		CHECK(static_mode_set(policy, mode) == 0);
		CHECK(here(100) == 100 + mode && switched() == 10 + mode && static_mode_get(policy) == mode);
	}
	EACH(two, 2, 1);
	EACH(four, 4, 0);
	EACH(five, 5, 4);
	EACH(six, 6, 2);
	EACH(seven, 7, 3);
	EACH(eight, 8, 7);
	CHECK(jumplabel_static_mode_set(NULL, 0) == -EINVAL);
	printf("ok %d\n", checks);
	return 0;
}
