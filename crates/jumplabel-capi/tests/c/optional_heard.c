/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that are called after changes, with threads: who removes a function whose call runs is told so; who frees its data after that, is
   safe. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "jumplabel-optional.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "checked.h"

static DEFINE_STATIC_KEY_FALSE(held);
static DEFINE_STATIC_KEY_FALSE(flipped);
RECORD_STATIC_KEY(held, "");
RECORD_STATIC_KEY(flipped, "");

enum { REGISTRARS = 3, FLIPPERS = 2, ROUNDS = 2000, ALIVE = 0x600d };

static sem_t inside, leave;

/* Runs until the main thread has seen that it does. */
static void stay(const struct jumplabel_changed *changed, void *data)
{
	CHECK(changed->key == &held.key && changed->state == 1);
	sem_post(&inside);
	while (sem_wait(&leave))
		;
	*(int *)data = 1;
}

static void ignore(const struct jumplabel_changed *changed, void *data)
{
	(void)changed;
	++*(int *)data;
}

static void *enable(void *data)
{
	CHECK(jumplabel_enable(&held.key) == 0);
	return data;
}

/* A call runs while its function is removed, and while others are registered. */
static void removed_while_running(void)
{
	int numbers[64], left = 0, calls = 0, number = jumplabel_on_change(&held.key, stay, &left), count = 0;
	pthread_t thread;

	CHECK(number > 0 && !sem_init(&inside, 0, 0) && !sem_init(&leave, 0, 0) && !pthread_create(&thread, 0, enable, 0));
	while (sem_wait(&inside))
		;
	CHECK(jumplabel_on_change_remove(number) == 1 && jumplabel_on_change_remove(number) == 1);
	while (count < 64 && (numbers[count] = jumplabel_on_change(&held.key, ignore, &calls)) > 0)
		CHECK(numbers[count++] != number);
	/* Nothing takes the place of a function that still runs. */
	CHECK(count == 63 && numbers[63] == -ENOMEM && left == 0);
	CHECK(jumplabel_on_change_remove(number) == 1);
	sem_post(&leave);
	pthread_join(thread, 0);
	CHECK(left == 1 && jumplabel_on_change_remove(number) == 0);
	CHECK((numbers[63] = jumplabel_on_change(&held.key, ignore, &calls)) > 0);
	while (count >= 0)
		CHECK(jumplabel_on_change_remove(numbers[count--]) == 0);
}

/* What a registrar frees when no call uses it any more. */
struct listener { int alive, calls; };

static int stopped;

static void listen(const struct jumplabel_changed *changed, void *data)
{
	struct listener *listener = (struct listener *)data;

	CHECK(changed->key == &flipped.key && __atomic_load_n(&listener->alive, __ATOMIC_RELAXED) == ALIVE);
	__atomic_fetch_add(&listener->calls, 1, __ATOMIC_RELAXED);
}

static void *flip(void *data)
{
	while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED)) {
		CHECK(jumplabel_enable(&flipped.key) == 0);
		CHECK(jumplabel_disable(&flipped.key) == 0);
	}
	return data;
}

static void *registers(void *data)
{
	int round;

	for (round = 0; round < ROUNDS / (JUMPLABEL_OPTIONAL_LIBRARY ? 100 : 1); round++) {
		struct listener *listener = (struct listener *)malloc(sizeof(*listener));
		int number;

		CHECK(listener);
		listener->alive = ALIVE;
		listener->calls = 0;
		CHECK((number = jumplabel_on_change(round % 2 ? &flipped.key : 0, listen, listener)) > 0);
		if (round % 64 == 0)
			sched_yield();
		while (jumplabel_on_change_remove(number) != 0)
			sched_yield();
		listener->alive = 0;
		free(listener);
	}
	return data;
}

int main(void)
{
	pthread_t registrars[REGISTRARS], flippers[FLIPPERS];
	int at;

	removed_while_running();
	for (at = 0; at < FLIPPERS; at++)
		CHECK(!pthread_create(&flippers[at], 0, flip, 0));
	for (at = 0; at < REGISTRARS; at++)
		CHECK(!pthread_create(&registrars[at], 0, registers, 0));
	for (at = 0; at < REGISTRARS; at++)
		pthread_join(registrars[at], 0);
	__atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
	for (at = 0; at < FLIPPERS; at++)
		pthread_join(flippers[at], 0);
	printf("ok %d\n", JUMPLABEL_OPTIONAL_LIBRARY);
	return 0;
}
