/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tasks in a ring pass a token by pipes, and a scheduler switches between them: what `perf bench sched pipe` has the kernel do, in one
 * process, because pipes have no keys here. The keys are in the scheduler, where the kernel's own has them: on the way to sleep, on the
 * way to wake up, and in the switch.
 *
 *     task 0 ──pipe 1──► task 1 ──pipe 2──► ... ──pipe 7──► task 7 ──pipe 0──► task 0
 *
 *     pipe PASSES
 *
 * Prints a line: nanoseconds, and how often the scheduler switched. CONSTANT: compiled without keys.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef CONSTANT
#define DEFINE_STATIC_KEY_FALSE(name) __attribute__((unused)) int name
#define DEFINE_STATIC_KEY_TRUE(name) __attribute__((unused)) int name
#define static_branch_unlikely(key) 0
#define static_branch_likely(key) 1
#else
#include <jumplabel.h>
#endif

#define TASKS 8

static DEFINE_STATIC_KEY_FALSE(sched_schedstats);
static DEFINE_STATIC_KEY_FALSE(trace_sched_switch);
static DEFINE_STATIC_KEY_FALSE(trace_sched_wakeup);
static DEFINE_STATIC_KEY_FALSE(preempt_notifier_key);
static DEFINE_STATIC_KEY_FALSE(perf_sched_events);
static DEFINE_STATIC_KEY_FALSE(sched_uclamp_used);
static DEFINE_STATIC_KEY_FALSE(sched_numa_balancing);
static DEFINE_STATIC_KEY_FALSE(sched_core_enabled);
static DEFINE_STATIC_KEY_FALSE(cpusets_enabled_key);
static DEFINE_STATIC_KEY_FALSE(housekeeping_overridden);
static DEFINE_STATIC_KEY_TRUE(sched_wakeup_preemption);
static DEFINE_STATIC_KEY_TRUE(sched_account_time);

struct task {
	int in, out;
	uint64_t runs, time, wakeups;
};

static struct task tasks[TASKS];
static unsigned queue[TASKS], head, waiting;
static uint64_t now, switches;

/* What the keys guard. Nobody calls it. */
static __attribute__((noinline, cold)) void hook(const char *name, struct task *task)
{
	fprintf(stderr, "%s: task %td\n", name, task - tasks);
	exit(3);
}

static __attribute__((noinline)) void wake_up(unsigned number)
{
	struct task *task = &tasks[number];

	if (static_branch_unlikely(&sched_uclamp_used))
		hook("uclamp", task);
	if (static_branch_unlikely(&sched_core_enabled))
		hook("core", task);
	queue[(head + waiting++) % TASKS] = number;
	task->wakeups++;
	if (static_branch_unlikely(&trace_sched_wakeup))
		hook("sched_wakeup", task);
	if (static_branch_likely(&sched_wakeup_preemption))
		now++;
}

static __attribute__((noinline)) struct task *pick_next(void)
{
	struct task *task = &tasks[queue[head]];

	if (static_branch_unlikely(&cpusets_enabled_key))
		hook("cpuset", task);
	if (static_branch_unlikely(&housekeeping_overridden))
		hook("housekeeping", task);
	head = (head + 1) % TASKS;
	waiting--;
	return task;
}

static __attribute__((noinline)) struct task *schedule(struct task *previous)
{
	struct task *next;

	if (static_branch_unlikely(&sched_schedstats))
		hook("schedstats", previous);
	next = pick_next();
	if (static_branch_unlikely(&perf_sched_events))
		hook("perf, out", previous);
	if (static_branch_unlikely(&trace_sched_switch))
		hook("sched_switch", next);
	if (static_branch_unlikely(&preempt_notifier_key))
		hook("preempt_notifier", previous);
	if (static_branch_likely(&sched_account_time))
		previous->time += now;
	if (static_branch_unlikely(&sched_numa_balancing))
		hook("numa", next);
	if (static_branch_unlikely(&perf_sched_events))
		hook("perf, in", next);
	next->runs++;
	switches++;
	return next;
}

int main(int count, char **words)
{
	long passes = count > 1 ? atol(words[1]) : 1000;
	struct timespec before, after;
	struct task *task = &tasks[0];
	char token = 1;

	for (unsigned number = 0; number < TASKS; number++) {
		int ends[2];

		if (pipe(ends))
			return 2;
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		tasks[number].in = ends[0];
		tasks[(number + TASKS - 1) % TASKS].out = ends[1];
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	if (write(tasks[TASKS - 1].out, &token, 1) != 1)
		return 2;
	while (passes > 0) {
		/* It passes the token, and sleeps when it has none. */
		while (read(task->in, &token, 1) == 1) {
			if (write(task->out, &token, 1) != 1)
				return 2;
			wake_up((unsigned)(task - tasks + 1) % TASKS);
			passes--;
		}
		if (errno != EAGAIN)
			return 2;
		task = schedule(task);
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("%lld %llu\n", (after.tv_sec - before.tv_sec) * 1000000000ll + (after.tv_nsec - before.tv_nsec),
	       (unsigned long long)switches);
	return 0;
}
