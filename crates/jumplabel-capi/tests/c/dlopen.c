/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loads each of the named libraries many times, in turn. Prints for each its name, and the tenth and fiftieth percentiles of the duration of
 * dlopen(), in microseconds.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 200
#define LIBRARIES 4

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int count, char **names)
{
	static double took[LIBRARIES][ROUNDS];

	if (count < 2 || count > LIBRARIES + 1)
		return 2;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 1; i < count; i++) {
			double start = now();
			void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

			took[i - 1][round] = now() - start;
			if (!handle || dlclose(handle) || dlopen(names[i], RTLD_NOW | RTLD_NOLOAD)) {
				fprintf(stderr, "%s: %s\n", names[i], dlerror());
				return 1;
			}
		}
	}
	for (int i = 1; i < count; i++) {
		qsort(took[i - 1], ROUNDS, sizeof(double), compare);
		printf("%s %.0f %.0f\n", names[i], took[i - 1][ROUNDS / 10], took[i - 1][ROUNDS / 2]);
	}
	return 0;
}
