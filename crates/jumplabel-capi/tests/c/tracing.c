/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads emit while others add and remove probes, and free their data after tracepoint_synchronize_unregister(). With the name of a plugin, the
 * plugin does the same. Prints "ok" at the end. With BREAK_SYNCHRONIZE, the program does not wait, and must fail.
 */
#include "tracing.h"
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

DEFINE_TRACE(step, TP_PROTO(unsigned int x), TP_ARGS(x));
DEFINE_TRACE(stop, TP_PROTO(unsigned int x), TP_ARGS(x));

#ifdef BREAK_SYNCHRONIZE
#define SYNCHRONIZE() 0
#define IS_BROKEN true
#else
#define SYNCHRONIZE() tracepoint_synchronize_unregister()
#define IS_BROKEN false
#endif

/* ---- A probe is removed while one thread is in it ---------------------------------------------------------------- */

static int inside, removed, freed;

static int load(int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void store(int *flag, int value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

static void await(int *flag)
{
	while (!load(flag))
		sched_yield();
}

/* Stays in the probe until the probe is removed, and a while longer. */
static void linger(void *data, unsigned int x)
{
	struct noted *noted = (struct noted *)data;

	store(&inside, 1);
	await(&removed);
	for (int i = 0; i < 100; i++)
		sched_yield();
	if (IS_BROKEN)
		await(&freed);
	CHECK(!noted || noted->magic == ALIVE + x);
	store(&inside, 0);
}

static void *emit_once(void *unused)
{
	trace_stop(0);
	return unused;
}

static void one(struct noted *noted)
{
	pthread_t thread;

	store(&removed, 0);
	store(&freed, 0);
	CHECK(register_trace_stop(linger, noted) == 0);
	CHECK(pthread_create(&thread, NULL, emit_once, NULL) == 0);
	await(&inside);
	CHECK(unregister_trace_stop(linger, noted) == 0);
	store(&removed, 1);
	CHECK(SYNCHRONIZE() == 0);
#ifndef SKIP_CHECK
	CHECK(load(&inside) == 0);
#endif
	if (noted)
		noted->magic = DEAD;
	free(noted);
	store(&freed, 1);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* ---- Many threads ------------------------------------------------------------------------------------------------ */

enum { EMITTERS = 2, ADDERS = 2, ROUNDS = 100 };

static int done;

static struct noted *new_noted(void)
{
	struct noted *noted = (struct noted *)malloc(sizeof(*noted));

	CHECK(noted);
	noted->magic = ALIVE;
	noted->count = 0;
	return noted;
}

static void note(void *data, unsigned int x)
{
	struct noted *noted = (struct noted *)data;

	CHECK(noted->magic == ALIVE);
	__atomic_fetch_add(&noted->count, x, __ATOMIC_RELAXED);
}

/* Another probe, with data that only this function may get. */
static void note_all(void *data, unsigned int x)
{
	note(*(void **)data, x);
}

static void without_data(void *data, unsigned int x)
{
	CHECK(!data && x == 1);
}

static void *emit(void *unused)
{
	while (!load(&done)) {
		trace_step(1);
		jumplabel_trace(step)(1);
	}
	return unused;
}

static void *add(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct noted *noted = new_noted();
		void **second = (void **)malloc(sizeof(void *));
		int result = register_trace_step(without_data, NULL);

		*second = noted;
		CHECK(result == 0 || result == -EEXIST);
		CHECK(register_trace_step(note_all, second) == 0 && register_trace_step(note, noted) == 0);
		trace_step(1);
		CHECK(__atomic_load_n(&noted->count, __ATOMIC_RELAXED) >= 2);
		result = unregister_trace_step(without_data, NULL);
		CHECK(result == 0 || result == -ENOENT);
		CHECK(unregister_trace_step(note, noted) == 0 && unregister_trace_step(note_all, second) == 0);
		CHECK(tracepoint_synchronize_unregister() == 0);
		noted->magic = DEAD;
		*second = NULL;
		free(noted);
		free(second);
	}
	return unused;
}

static void many(void)
{
	pthread_t emitters[EMITTERS], adders[ADDERS];

	for (int i = 0; i < EMITTERS; i++)
		CHECK(pthread_create(&emitters[i], NULL, emit, NULL) == 0);
	for (int i = 0; i < ADDERS; i++)
		CHECK(pthread_create(&adders[i], NULL, add, NULL) == 0);
	for (int i = 0; i < ADDERS; i++)
		CHECK(pthread_join(adders[i], NULL) == 0);
	CHECK(!trace_step_enabled());
	store(&done, 1);
	for (int i = 0; i < EMITTERS; i++)
		CHECK(pthread_join(emitters[i], NULL) == 0);
}

/* ---- A refused flip leaves all as it was -------------------------------------------------------------------------- */

static void refused(void)
{
	struct noted *noted = new_noted();

	CHECK(jumplabel_seal(&__tracepoint_stop.key.key) == 0);
	CHECK(register_trace_stop(note, noted) == -EROFS && register_trace_stop(note, NULL) == -EROFS);
	CHECK(!trace_stop_enabled());
	trace_stop(1);
	CHECK(register_trace_step(note, noted) == 0 && jumplabel_seal(&__tracepoint_step.key.key) == 0);
	CHECK(unregister_trace_step(note, noted) == -EROFS && trace_step_enabled());
	trace_step(1);
	CHECK(noted->count == 1);
	CHECK(register_trace_step(note, noted) == -EEXIST);
}

/* ---- A plugin, perhaps with an instance of the library of its own ------------------------------------------------------ */

static void plugin(const char *name)
{
	for (int i = 0; i < 10; i++) {
		void *object = dlopen(name, RTLD_NOW);
		void *symbol = object ? dlsym(object, "look_on") : NULL;
		void (*look_on)(bool on, unsigned int expected);

		CHECK(symbol);
		memcpy(&look_on, &symbol, sizeof(symbol));
		look_on(true, 0);
		trace_step(3);
		look_on(false, 3);
		CHECK(dlclose(object) == 0);
		trace_step(3);
	}
}

int main(int argc, char **argv)
{
	jumplabel_set_warn(note_warning, NULL);
	if (argc > 1)
		plugin(argv[1]);
	one(new_noted());
	one(NULL);
	many();
	refused();
	printf("ok %d\n", checks > 0);
	return 0;
}
