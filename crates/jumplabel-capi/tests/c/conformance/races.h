/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads call while another one updates. Each result must be that of the old or the new target. A part of conformance.c. */

static int add_ten(int x)
{
	return x + 10;
}

static int add_twenty(int x)
{
	return x + 20;
}

DEFINE_STATIC_CALL(racing, add_ten);

struct race {
	int stop, wrong;
	long seen[2];
};

static void *race(void *data)
{
	struct race *race = JUMPLABEL_STATIC_CAST_(struct race *, data);

	while (!__atomic_load_n(&race->stop, __ATOMIC_RELAXED)) {
		int result = static_call(racing)(1);

		if (result != 11 && result != 21)
			__atomic_fetch_add(&race->wrong, 1, __ATOMIC_RELAXED);
		else
			__atomic_fetch_add(&race->seen[result / 20], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void races(int updates)
{
	struct race shared = { 0, 0, { 0, 0 } };
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&thread[i], NULL, race, &shared) == 0);
	/* Goes on until the other threads have called both targets, however late they begin. */
	for (int i = 0; i < updates || !__atomic_load_n(&shared.seen[0], __ATOMIC_RELAXED) ||
			!__atomic_load_n(&shared.seen[1], __ATOMIC_RELAXED); i++) {
		CHECK(static_call_update(racing, i & 1 ? add_ten : add_twenty) == 0);
		CHECK(static_call(racing)(1) == (i & 1 ? 11 : 21));
	}
	__atomic_store_n(&shared.stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	CHECK(shared.wrong == 0);
	check_text(__LINE__);
}

#ifndef CALL_UPDATES
#define CALL_UPDATES 200
#endif
