/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Rare or wrong uses: many threads that warn at the same time, a hook that flips or jumps away, a fork under jump_label_lock(), calls without a
 * function. Prints "ok".
 */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

static DEFINE_STATIC_KEY_FALSE(key);
static DEFINE_STATIC_KEY_FALSE(other);

static bool is_on(void)
{
	return static_branch_unlikely(&key);
}

/* ---- The hook gets each warning ----------------------------------------------------------------------------------- */

#define WARNERS 4
#define ROUNDS 20000

static int counted;

static void count(const char *message, void *data)
{
	(void)message;
	__atomic_fetch_add((int *)data, 1, __ATOMIC_RELAXED);
}

static void *keep_warning(void *nothing)
{
	(void)nothing;
	for (int i = 0; i < ROUNDS; i++)
		static_branch_dec(&key);
	return NULL;
}

static void many_warnings(void)
{
	pthread_t threads[WARNERS];

	jumplabel_set_warn(count, &counted);
	for (int i = 0; i < WARNERS; i++)
		CHECK(pthread_create(&threads[i], NULL, keep_warning, NULL) == 0);
	/* The hook changes together with its data. */
	for (int i = 0; i < ROUNDS; i++)
		jumplabel_set_warn(count, &counted);
	for (int i = 0; i < WARNERS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(counted == WARNERS * ROUNDS);
}

/* ---- What a hook may do ------------------------------------------------------------------------------------------- */

static jmp_buf before;

static void jump_away(const char *message, void *data)
{
	(void)message;
	(void)data;
	longjmp(before, 1);
}

static void flip_and_replace(const char *message, void *data)
{
	(void)message;
	(void)data;
	jumplabel_set_warn(note_warning, NULL);
	CHECK(jumplabel_enable(&other.key) == 0);
	jump_label_lock();
	static_branch_enable_cpuslocked(&key);
	jump_label_unlock();
}

static void hooks(void)
{
	jumplabel_set_warn(jump_away, NULL);
	if (!setjmp(before)) {
		static_branch_dec(&key);
		CHECK(!"warned");
	}
	if (!setjmp(before)) {
		jump_label_lock();
		static_branch_dec_cpuslocked(&key);
		CHECK(!"warned");
	}
	CHECK(jumplabel_enable(&key.key) == -EDEADLK);
	jump_label_unlock();
	CHECK(jumplabel_enable(&key.key) == 0 && is_on() && jumplabel_disable(&key.key) == 0);

	jumplabel_set_warn(flip_and_replace, NULL);
	static_branch_dec(&key);
	CHECK(is_on() && static_key_enabled(&other));
	STEP(static_branch_disable(&key));
	WARNS("is off", static_branch_dec(&key));
}

/* ---- The lock ------------------------------------------------------------------------------------------------------ */

static void *other_thread(void *nothing)
{
	WARNS("does not hold", jump_label_unlock());
	WARNS("does not hold", static_branch_enable_cpuslocked(&key));
	return nothing;
}

static void lock_and_threads(void)
{
	pthread_t thread;

	jump_label_lock();
	CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
	STEP(static_branch_enable_cpuslocked(&key));
	jump_label_unlock();
	CHECK(is_on());
	STEP(static_branch_disable(&key));
}

/* A child of fork does not hold its parent's lock, so it can take the lock itself. */
static void child(void)
{
	WARNS("does not hold", static_branch_enable_cpuslocked(&key));
	WARNS("does not hold", jump_label_unlock());
	jump_label_lock();
	CHECK(jumplabel_enable(&key.key) == -EDEADLK);
	STEP(static_branch_enable_cpuslocked(&key));
	jump_label_unlock();
	CHECK(is_on() && jumplabel_disable(&key.key) == 0 && !is_on());
	_exit(0);
}

static void lock_and_fork(void)
{
	int status = -1;
	pid_t pid = -1;

	jump_label_lock();
	pid = fork();
	if (pid == 0)
		child();
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(jumplabel_enable(&key.key) == -EDEADLK);
	STEP(static_branch_enable_cpuslocked(&key));
	jump_label_unlock();
	CHECK(is_on() && jumplabel_disable(&key.key) == 0);
}

int main(void)
{
	many_warnings();
	hooks();
	lock_and_threads();
	lock_and_fork();
#ifndef JUMPLABEL_FALLBACK
	CHECK(jumplabel_for_each_site(&key.key, NULL, NULL) > 0);
#endif
	CHECK(jumplabel_for_each_key(NULL, NULL) == 0);
	puts("ok");
	return 0;
}
