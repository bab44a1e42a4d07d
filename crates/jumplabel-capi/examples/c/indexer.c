/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A word and line indexer with optional hooks in its hot loop, flipped while it runs.
 *
 *     phase 1   hooks off                            a third of the time each
 *     phase 2   hooks flipped by the main thread, one by one and in batches
 *     phase 3   hooks off again, compared with the same loop without hooks
 *
 * Every pass is compared with a plain implementation, and each hook counts how often it ran: a hook that runs while it is
 * off is a wrong result like any other.
 *
 *     cc -O2 -pthread indexer.c -ljumplabel -o indexer && ./indexer [SECONDS [FILE]]
 *
 * Exit codes: 0, 1 for a wrong result or a refused flip, 2 for bad arguments.
 */
#include <jumplabel.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRACE, LENGTHS, VERIFY, LINES, HOOKS };

static DEFINE_STATIC_KEY_ARRAY_FALSE(hooks, HOOKS);

struct index {
	uint64_t words, lines, hash;
	uint64_t ran[HOOKS];
	uint64_t lengths[16];
	uint32_t last;
};

static const char *text;
static size_t length;
static atomic_bool stop;
static atomic_ullong passes;

static inline bool is_letter(char c)
{
	return (unsigned char)((c | 32) - 'a') < 26;
}

/* The loop, with its hooks or, where `hooked` is the constant false, without. */
static inline __attribute__((always_inline)) void index_text(struct index *index, const bool hooked)
{
	size_t at = 0;

	while (at < length) {
		size_t start = at;
		uint32_t hash = 2166136261u;

		while (at < length && is_letter(text[at]))
			hash = (hash ^ (unsigned char)(text[at++] | 32)) * 16777619u;
		if (at > start) {
			index->words++;
			index->hash += hash;
			if (hooked && static_branch_unlikely(&hooks[TRACE])) {
				index->ran[TRACE]++;
				index->last = hash;
			}
			if (hooked && static_branch_unlikely(&hooks[LENGTHS])) {
				index->ran[LENGTHS]++;
				index->lengths[(at - start) & 15]++;
			}
			if (hooked && static_branch_unlikely(&hooks[VERIFY]))
				index->ran[VERIFY] += is_letter(text[start]) && is_letter(text[at - 1]);
		}
		if (at < length && text[at++] == '\n') {
			index->lines++;
			if (hooked && static_branch_unlikely(&hooks[LINES]))
				index->ran[LINES]++;
		}
	}
}

static __attribute__((noinline)) struct index hooked(void)
{
	struct index index = { 0 };

	index_text(&index, true);
	return index;
}

static __attribute__((noinline)) struct index plain(void)
{
	struct index index = { 0 };

	index_text(&index, false);
	return index;
}

static void wrong(const char *what)
{
	fprintf(stderr, "wrong result: %s\n", what);
	exit(1);
}

/* Compares a pass with the plain implementation. */
static void compare(const struct index *index, const struct index *expected)
{
	if (index->words != expected->words || index->lines != expected->lines || index->hash != expected->hash)
		wrong("the index");
	for (int hook = 0; hook < HOOKS; hook++)
		if (index->ran[hook] > (hook == LINES ? expected->lines : expected->words))
			wrong("a hook ran too often");
}

static void *work(void *nothing)
{
	const struct index expected = plain();

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		struct index index = hooked();

		compare(&index, &expected);
		atomic_fetch_add_explicit(&passes, 1, memory_order_relaxed);
	}
	return nothing;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void refused(int error)
{
	if (error) {
		fprintf(stderr, "flip refused: %s\n", jumplabel_strerror(error));
		exit(1);
	}
}

/* One hook on its own, then all of them in one transaction: on, off. */
static unsigned long flip_all(void)
{
	struct jumplabel_change changes[HOOKS];

	for (int hook = 0; hook < HOOKS; hook++) {
		refused(jumplabel_enable(&hooks[hook].key));
		refused(jumplabel_disable(&hooks[hook].key));
	}
	for (int on = 1; on >= 0; on--) {
		for (int hook = 0; hook < HOOKS; hook++) {
			changes[hook].key = &hooks[hook].key;
			changes[hook].enable = on;
		}
		refused(jumplabel_set_all(changes, HOOKS));
	}
	return HOOKS * 4;
}

/* All hooks on or off: each then runs for every word or line, or not at all. */
static void check_hooks(bool on)
{
	const struct index index = hooked();

	for (int hook = 0; hook < HOOKS; hook++)
		if (index.ran[hook] != (on ? hook == LINES ? index.lines : index.words : 0))
			wrong(on ? "a hook was left out while it was on" : "a hook ran while it was off");
}

static char *made_up_text(void)
{
	static const char line[] = "Static keys are switches that cost one instruction where they are checked.\n";
	char *made_up = malloc(200000);

	if (!made_up)
		abort();
	for (length = 0; length + sizeof(line) < 200000; length += sizeof(line) - 1)
		memcpy(made_up + length, line, sizeof(line) - 1);
	return made_up;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *content = NULL;

	if (file && fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0) {
		length = (size_t)ftell(file);
		rewind(file);
		content = malloc(length);
		if (content && fread(content, 1, length, file) != length)
			length = 0;
	}
	if (file)
		fclose(file);
	if (!content || !length) {
		fprintf(stderr, "%s: cannot be read, or is empty\n", path);
		exit(2);
	}
	return content;
}

int main(int count, char **arguments)
{
	double seconds = count > 1 ? atof(arguments[1]) : 3, start, with = 1e9, without = 1e9;
	unsigned long flips = 0, before;
	pthread_t workers[2];

	if (seconds <= 0 || count > 3) {
		fprintf(stderr, "usage: indexer [SECONDS [FILE]]\n");
		return 2;
	}
	text = count > 2 ? read_file(arguments[2]) : made_up_text();

	check_hooks(false);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&workers[i], NULL, work, NULL))
			abort();
	nanosleep(&(struct timespec){ .tv_nsec = (long)(seconds / 3 * 1e9) % 1000000000, .tv_sec = (time_t)(seconds / 3) }, NULL);
	before = atomic_load(&passes);
	printf("phase 1: %lu passes with the hooks off, all right\n", before);

	for (start = now(); now() < start + seconds / 3;)
		flips += flip_all();
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i], NULL);
	printf("phase 2: %lu flips during %lu passes, all right\n", flips, (unsigned long)atomic_load(&passes) - before);

	for (int hook = 0; hook < HOOKS; hook++)
		refused(jumplabel_enable(&hooks[hook].key));
	check_hooks(true);
	for (int hook = 0; hook < HOOKS; hook++)
		refused(jumplabel_disable(&hooks[hook].key));
	check_hooks(false);
	for (start = now(); now() < start + seconds / 3;) {
		double t0 = now(), t1, t2;

		hooked();
		t1 = now();
		plain();
		t2 = now();
		with = t1 - t0 < with ? t1 - t0 : with;
		without = t2 - t1 < without ? t2 - t1 : without;
	}
	printf("phase 3: hooks off take %.3f of the time of no hooks at all\n", with / without);
	return 0;
}
