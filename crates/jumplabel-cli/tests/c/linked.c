/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Static calls of C, called in the middle and at the end of functions, and updated under a thread that calls. With -DPLUGIN, a library. */
#include <jumplabel.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

DEFINE_STATIC_KEY_FALSE(trace);

static int one(int number)
{
	return number + 1;
}

static int two(int number)
{
	return number + 2;
}

DEFINE_STATIC_CALL(hash, one);
DEFINE_STATIC_CALL_NULL(quiet, one);
DEFINE_STATIC_CALL_RET0(zero, one);

int linked_calls(void);
int (*kept)(int);

__attribute__((noinline)) static int middle(int number)
{
	int sum = static_call(hash)(number) + static_call(hash)(0);

	if (static_branch_unlikely(&trace))
		sum += 100;
	static_call_cond(quiet)(number);
	return sum + static_call(zero)(number);
}

__attribute__((noinline)) static int end(int number)
{
	return static_call(hash)(number);
}

/* With optimisation, a conditional jump. */
__attribute__((noinline)) static int maybe(int number)
{
	if (number > 5)
		return static_call(hash)(number);
	return number;
}

static int stop, calls;

static void *calling(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int sum = middle(0), last = end(0), some = maybe(6);

		if ((sum != 2 && sum != 3 && sum != 4 && sum < 100) || (last != 1 && last != 2) || (some != 7 && some != 8))
			return unused;
		__atomic_store_n(&calls, 1, __ATOMIC_RELAXED);
	}
	return &stop;
}

static int check(int add, int key)
{
	return middle(3) == 3 + 2 * add + 100 * key && end(3) == 3 + add && maybe(6) == 6 + add && maybe(5) == 5 && kept(1) == 1 + add;
}

/* 0 if all is well. */
int linked_calls(void)
{
	pthread_t thread;
	void *result;

	kept = static_call(hash);
	if (!check(1, 0))
		return 1;
	stop = calls = 0;
	if (pthread_create(&thread, NULL, calling, NULL))
		return 2;
	while (!__atomic_load_n(&calls, __ATOMIC_RELAXED))
		sched_yield();
	for (int round = 0; round < 100; round++) {
		if (static_call_update(hash, two))
			return 3;
		static_branch_enable(&trace);
		if (!check(2, 1) || static_call_query(hash) != two)
			return 4;
		static_branch_disable(&trace);
		if (static_call_update(hash, one) || !check(1, 0))
			return 5;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	if (pthread_join(thread, &result) || result != &stop)
		return 6;
	return 0;
}

#ifndef PLUGIN
int main(int count, char **paths)
{
	int failed = linked_calls();

	for (int at = 1; at < count && !failed; at++) {
		void *library = dlopen(paths[at], RTLD_NOW | RTLD_LOCAL);
		int (*calls)(void) = library ? (int (*)(void))dlsym(library, "linked_calls") : NULL;

		if (!calls) {
			puts(dlerror());
			return 7;
		}
		failed = calls();
	}
	printf(failed ? "failed: %d\n" : "ok\n", failed);
	return failed;
}
#endif
