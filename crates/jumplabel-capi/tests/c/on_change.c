/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Functions that are called after flips, and the things that they may do: flip their own key, remove themselves, wait for a thread that flips. The
 * argument is a library (tests/c/on_change_plugin.c), which is closed without having removed its function, and which a function closes. Prints "ok".
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "check.h"

static DEFINE_STATIC_KEY_FALSE(key);
static DEFINE_STATIC_KEY_TRUE(other);
static DEFINE_STATIC_KEY_ARRAY_FALSE(many, 20);
DEFINE_STATIC_MODE(mode, 3, 0);

static struct jumplabel_changed last;
static int calls;

static void note(const struct jumplabel_changed *changed, void *data)
{
	last = *changed;
	++*(int *)data;
}

static int called(void)
{
	int count = calls;

	calls = 0;
	return count;
}

static void each_change_once(void)
{
	int all = jumplabel_on_change(NULL, note, &calls);
	int of_other;

	CHECK(all > 0);
	static_branch_enable(&key);
	static_branch_enable(&key);
	CHECK(called() == 1 && last.key == &key.key && !last.mode && last.state == 1 && last.by == JUMPLABEL_BY_PROGRAM);
	CHECK(static_branch_inc(&key) && called() == 0);
	static_branch_dec(&key);
	static_branch_dec(&key);
	CHECK(called() == 1 && last.state == 0);
	CHECK(static_mode_set(mode, 2) == 0 && called() == 1 && last.state == 2 && !last.key && last.mode != NULL);
	jump_label_lock();
	static_key_enable_cpuslocked(&key.key);
	CHECK(called() == 0);
	jump_label_unlock();
	CHECK(called() == 1 && last.state == 1);
	static_branch_disable(&key);
	of_other = jumplabel_on_change(&other.key, note, &calls);
	CHECK(of_other > 0 && of_other != all && called() == 1);
	static_branch_disable(&other);
	CHECK(called() == 2);
	CHECK(jumplabel_on_change_remove(all) == 0 && jumplabel_on_change_remove(all) == 0);
	static_branch_enable(&key);
	static_branch_enable(&other);
	CHECK(called() == 1 && last.key == &other.key);
	CHECK(jumplabel_on_change_remove(of_other) == 0 && jumplabel_on_change_remove(-1) == 0);
	static_branch_disable(&key);
	CHECK(jumplabel_on_change(NULL, NULL, NULL) == -EINVAL && jumplabel_on_change((struct static_key *)1, note, NULL) == -EINVAL);
}

static void batches(void)
{
	struct jumplabel_change changes[20];
	int all = jumplabel_on_change(NULL, note, &calls);
	int at;

	for (at = 0; at < 20; at++) {
		changes[at].key = &many[at].key;
		changes[at].enable = true;
	}
	CHECK(jumplabel_set_all(changes, 20) == 0 && called() == 20);
	changes[0].enable = changes[1].enable = false;
	CHECK(jumplabel_inc(&many[1].key) == 0);
	CHECK(jumplabel_set_all(changes, 20) == -EBUSY && called() == 0);
	CHECK(jumplabel_on_change_remove(all) == 0);
}

static int deepest;

static void toggle(const struct jumplabel_changed *changed, void *data)
{
	int error = changed->state ? jumplabel_disable(changed->key) : jumplabel_enable(changed->key);

	CHECK(error == 0 || error == -EDEADLK);
	++*(int *)data;
	if (error)
		deepest++;
}

static int itself;
static long running;

static void remove_itself(const struct jumplabel_changed *changed, void *data)
{
	CHECK(changed->key == &key.key);
	++*(int *)data;
	running = jumplabel_on_change_remove(itself);
}

static void flip_and_remove(void)
{
	int number = jumplabel_on_change(&key.key, toggle, &calls);

	static_branch_enable(&key);
	CHECK(called() == 8 && deepest == 1 && jumplabel_on_change_remove(number) == 0);
	static_branch_disable(&key);
	itself = jumplabel_on_change(&key.key, remove_itself, &calls);
	static_branch_enable(&key);
	static_branch_disable(&key);
	CHECK(called() == 1 && running == 1 && jumplabel_on_change_remove(itself) == 0);
}

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static int is_in;

static void wait_for_own(const struct jumplabel_changed *changed, void *data)
{
	(void)changed;
	(void)data;
	__atomic_store_n(&is_in, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
}

static void *flip(void *data)
{
	static_branch_enable(&key);
	return data;
}

/* A function waits for a mutex that a thread holds while it flips. */
static void a_lock_of_a_flipper(void)
{
	int number = jumplabel_on_change(&key.key, wait_for_own, NULL);
	pthread_t thread;

	pthread_mutex_lock(&own);
	CHECK(pthread_create(&thread, NULL, flip, NULL) == 0);
	while (!__atomic_load_n(&is_in, __ATOMIC_SEQ_CST))
		sched_yield();
	static_branch_disable(&other);
	static_branch_enable(&other);
	CHECK(jumplabel_on_change_remove(number) == 1);
	static_branch_disable(&key);
	pthread_mutex_unlock(&own);
	CHECK(pthread_join(thread, NULL) == 0 && jumplabel_on_change_remove(number) == 0);
}

static void *plugin;

/* Loads the library, and registers its function. */
static int load(const char *file)
{
	int (*hear)(int *);

	plugin = dlopen(file, RTLD_NOW);
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(plugin != NULL);
	*(void **)&hear = dlsym(plugin, "hear");
	return hear(&calls);
}

/* Closes the library. The library's own function does not run in this call. */
static void close_it(const struct jumplabel_changed *changed, void *data)
{
	(void)changed;
	(void)data;
	if (plugin)
		CHECK(dlclose(plugin) == 0);
	plugin = NULL;
}

static void closed(const char *file)
{
	int number = load(file), closes;

	CHECK(number > 0);
	static_branch_enable(&key);
	CHECK(called() == 1);
	/* The library is closed without having removed its function. */
	CHECK(dlclose(plugin) == 0 && !dlopen(file, RTLD_NOW | RTLD_NOLOAD));
	static_branch_disable(&key);
	CHECK(called() == 0 && jumplabel_on_change_remove(number) == 0);
	/* A function of the program closes the library. It may be called before or after the library's function. */
	number = load(file);
	closes = jumplabel_on_change(&key.key, close_it, NULL);
	static_branch_enable(&key);
	CHECK(called() <= 1 && !dlopen(file, RTLD_NOW | RTLD_NOLOAD));
	static_branch_disable(&key);
	CHECK(called() == 0 && jumplabel_on_change_remove(number) == 0 && jumplabel_on_change_remove(closes) == 0);
}

int main(int argc, char **argv)
{
	each_change_once();
	batches();
	flip_and_remove();
	a_lock_of_a_flipper();
	if (argc > 1)
		closed(argv[1]);
	printf("ok\n");
	return 0;
}
