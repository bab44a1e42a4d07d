/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads add and remove users of one key, and flip another key, while other threads check both. */
#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "jumplabel-optional.h"

#include <pthread.h>
#include <stdlib.h>

static DEFINE_STATIC_KEY_FALSE(counted);
static DEFINE_STATIC_KEY_FALSE(flipped);
RECORD_STATIC_KEY(counted, "");
RECORD_STATIC_KEY(flipped, "");

enum { THREADS = 4, ROUNDS = 20000 };

static void *run(void *data)
{
	struct jumplabel_change change;
	long round, wrong = 0;

	change.key = &flipped.key;
	for (round = 0; round < ROUNDS / (JUMPLABEL_OPTIONAL_LIBRARY ? 100 : 1); round++) {
		if (!static_branch_inc(&counted))
			wrong++;
		if (!static_branch_unlikely(&counted) || !static_key_fast_inc_not_disabled(&counted.key))
			wrong++;
		change.enable = round % 2 == 0;
		if (jumplabel_set_all(&change, 1))
			wrong++;
		static_branch_dec(&counted);
		static_branch_dec(&counted);
	}
	*(long *)data = wrong;
	return 0;
}

int main(void)
{
	pthread_t threads[THREADS];
	long wrong[THREADS], all = 0;
	int at;

	for (at = 0; at < THREADS; at++)
		if (pthread_create(&threads[at], 0, run, &wrong[at]))
			return 1;
	for (at = 0; at < THREADS; at++) {
		pthread_join(threads[at], 0);
		all += wrong[at];
	}
	if (all || static_key_count(&counted) != 0 || static_branch_unlikely(&counted) || static_key_count(&flipped) > 1) {
		fprintf(stderr, "%ld wrong, %d users\n", all, static_key_count(&counted));
		return 1;
	}
	printf("ok %d\n", JUMPLABEL_OPTIONAL_LIBRARY);
	return 0;
}
