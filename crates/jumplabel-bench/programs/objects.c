/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Flips of a key whose sites are in 1 to 100 shared libraries, ten in each: copies of plugin.c, which this loads.
 *
 *     objects DIRECTORY FLIPS
 *
 * Prints lines: `objects NUMBER FIRST TIME...`, nanoseconds; the first flip after more were loaded, then FLIPS of them.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jumplabel.h>

DEFINE_STATIC_KEY_FALSE(objects_key);

#define MOST 100

static int (*plugins[MOST])(void);

static long long flip(bool on, int number)
{
	struct timespec before, after;
	int error;

	clock_gettime(CLOCK_MONOTONIC, &before);
	error = on ? jumplabel_enable(&objects_key.key) : jumplabel_disable(&objects_key.key);
	clock_gettime(CLOCK_MONOTONIC, &after);
	for (int at = 0; at < number; at++) {
		if (error || plugins[at]() != (on ? 10 : 0)) {
			fprintf(stderr, "library %d: %s\n", at, error ? jumplabel_strerror(error) : "a site is not as its key");
			exit(2);
		}
	}
	return (after.tv_sec - before.tv_sec) * 1000000000ll + (after.tv_nsec - before.tv_nsec);
}

int main(int count, char **words)
{
	static const int numbers[] = { 1, 2, 5, 10, 20, 50, MOST };
	int loaded = 0, flips = count > 2 ? atoi(words[2]) : 20;

	for (size_t at = 0; count > 1 && at < sizeof(numbers) / sizeof(*numbers); at++) {
		for (; loaded < numbers[at]; loaded++) {
			char path[4096];
			void *library;

			snprintf(path, sizeof(path), "%s/plugin-%d.so", words[1], loaded);
			library = dlopen(path, RTLD_NOW);
			plugins[loaded] = library ? (int (*)(void))dlsym(library, "plugin") : NULL;
			if (!plugins[loaded]) {
				fprintf(stderr, "%s: %s\n", path, dlerror());
				return 2;
			}
		}
		printf("objects %d", loaded);
		for (int number = 0; number <= flips; number++)
			printf(" %lld", flip(number % 2 == 0, loaded));
		if (flips % 2 == 0)
			flip(false, loaded);
		printf("\n");
	}
	return 0;
}
