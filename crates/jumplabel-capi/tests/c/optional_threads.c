/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads add and remove users of one key, and flip another key, while other threads check both. What a refused jumplabel_set_all() undoes leaves
   alone what others changed meanwhile. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "jumplabel-optional.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static DEFINE_STATIC_KEY_FALSE(counted);
static DEFINE_STATIC_KEY_FALSE(flipped);
RECORD_STATIC_KEY(counted, "");
RECORD_STATIC_KEY(flipped, "");
static DEFINE_STATIC_KEY_FALSE(off);
static DEFINE_STATIC_KEY_TRUE(on);
static DEFINE_STATIC_KEY_TRUE(busy);

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

static void *refused(void *data)
{
	struct jumplabel_change changes[3];
	long round;

	changes[0].key = &off.key;
	changes[1].key = &on.key;
	changes[2].key = &busy.key;
	changes[0].enable = true;
	changes[1].enable = changes[2].enable = false;
	*(long *)data = 0;
	for (round = 0; round < ROUNDS / (JUMPLABEL_OPTIONAL_LIBRARY ? 100 : 1); round++)
		*(long *)data += jumplabel_set_all(changes, 3) != -EBUSY;
	return 0;
}

static void *used(void *data)
{
	long round;

	*(long *)data = 0;
	for (round = 0; round < ROUNDS / (JUMPLABEL_OPTIONAL_LIBRARY ? 100 : 1); round++) {
		*(long *)data += jumplabel_inc(&off.key) != 0 || jumplabel_inc(&on.key) != 0;
		*(long *)data += jumplabel_dec(&off.key) != 0 || jumplabel_dec(&on.key) != 0;
	}
	return 0;
}

static int in_place(int users)
{
	if (static_key_count(&off) == users && static_key_count(&on) == users + 1 && static_key_count(&busy) == 2)
		return 1;
	fprintf(stderr, "%d, %d and %d users\n", static_key_count(&off), static_key_count(&on), static_key_count(&busy));
	return 0;
}

#if !JUMPLABEL_OPTIONAL_LIBRARY
static struct jumplabel_change *pages;
static volatile int caught;

/* Runs when jumplabel_set_all() reads its third change, after the first two. */
static void between(int number)
{
	if (number != SIGSEGV || caught || jumplabel_inc(&off.key) || jumplabel_inc(&on.key))
		_exit(2);
	caught = 1;
	if (mprotect((char *)pages + sysconf(_SC_PAGESIZE), (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE))
		_exit(3);
}

/* The same race, in the only order in which it can be lost. */
static int interrupted(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at = page / sizeof(*pages) - 2;
	struct sigaction action;

	pages = (struct jumplabel_change *)mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(&action, 0, sizeof(action));
	action.sa_handler = between;
	if ((void *)pages == MAP_FAILED || sigaction(SIGSEGV, &action, 0))
		return 0;
	pages[at].key = &off.key;
	pages[at].enable = true;
	pages[at + 1].key = &on.key;
	pages[at + 1].enable = false;
	pages[at + 2].key = &busy.key;
	pages[at + 2].enable = false;
	if (mprotect((char *)pages + page, page, PROT_NONE))
		return 0;
	return jumplabel_set_all(pages + at, 3) == -EBUSY && caught == 1 && in_place(1) && jumplabel_dec(&off.key) == 0 &&
	       jumplabel_dec(&on.key) == 0 && in_place(0);
}
#endif

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
	if (jumplabel_inc(&busy.key) || pthread_create(&threads[0], 0, refused, &wrong[0]) || pthread_create(&threads[1], 0, used, &wrong[1]))
		return 1;
	for (at = 0; at < 2; at++) {
		pthread_join(threads[at], 0);
		all += wrong[at];
	}
	if (all || !in_place(0)) {
		fprintf(stderr, "%ld wrong\n", all);
		return 1;
	}
#if !JUMPLABEL_OPTIONAL_LIBRARY
	if (!interrupted())
		return 1;
#endif
	printf("ok %d\n", JUMPLABEL_OPTIONAL_LIBRARY);
	return 0;
}
