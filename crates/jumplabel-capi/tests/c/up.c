/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * UP mode in C and C++:
 *
 *     up operations              the result of each operation, in both modes
 *     up threads                 threads of a library add to numbers; with INTERPOSE, pthread_create() is caught
 *     up lost                    the broken twin: in UP mode, with pthread_create() not caught
 *     up late PLUGIN             plugins: one is loaded in UP mode, one leaves UP mode
 *     up refused                 with INTERPOSE: while a prefix has a breakpoint, no thread starts
 *     up denied                  with INTERPOSE and an unknown writer: the prefixes stay, and threads start
 */
#ifdef INTERPOSE
#include <jumplabel/up_threads.h>
#endif
#include "check.h"
#include "up.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static struct up_atomic32 number;

static void operations(void)
{
	struct up_atomic32 a = { 5 };
	uint32_t expected = 9;

	up_add32(&a, 3);
	CHECK(up_load32(&a) == 8 && up_fetch_add32(&a, UINT32_MAX) == 8 && up_load32(&a) == 7);
	up_sub32(&a, 8);
	CHECK(up_load32(&a) == UINT32_MAX);
	up_and32(&a, 0xf0);
	up_or32(&a, 1);
	CHECK(up_swap32(&a, 2) == 0xf1);
	CHECK(!up_compare_exchange32(&a, &expected, 3) && expected == 2);
	CHECK(up_compare_exchange32(&a, &expected, 3) && expected == 2 && up_load32(&a) == 3);
	up_store32(&a, 4);
	CHECK(up_load32(&a) == 4);
#ifdef __x86_64__
	struct up_atomic64 b = { 1ull << 40 };
	uint64_t wide = 0;

	up_add64(&b, 1);
	CHECK(up_fetch_add64(&b, 1ull << 41) == (1ull << 40 | 1));
	CHECK(!up_compare_exchange64(&b, &wide, 3) && wide == (3ull << 40 | 1) && up_swap64(&b, 7) == wide);
	up_sub64(&b, 8);
	up_and64(&b, ~1ull);
	up_or64(&b, 1);
	up_store64(&b, up_load64(&b));
	CHECK(up_load64(&b) == UINT64_MAX);
#endif
	int own = 3;
#ifdef LOCK_PREFIX
	__asm__ __volatile__(LOCK_PREFIX "incl %0" : "+m"(own) : : "cc");
	CHECK(own == 4);
#endif
	(void)own;
}

/*
 * The number of times that two threads certainly ran at the same time. If the second of two successive reads sees a change, another thread ran in
 * between. The number of times that this thread was stopped is subtracted.
 */
static long beside;

static long switches(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void *add(void *argument)
{
	long seen = 0, before = switches();

	for (int round = 0; round < 300000; round++) {
		uint32_t once = up_load32(&number);

		seen += once != up_load32(&number);
		up_add32(&number, 1);
	}
	seen -= switches() - before;
	if (seen > 0)
		__atomic_fetch_add(&beside, seen, __ATOMIC_RELAXED);
	return argument;
}

/* A joined thread may still be ending, so this tries again. */
static void enter_at_last(void)
{
	int error;

	while ((error = jumplabel_up_enter()) == -EAGAIN)
		sched_yield();
	CHECK(error == 0);
}

static void in_both_modes(void)
{
	CHECK(!jumplabel_up_is_on() && prefixes() == LOCKED);
	operations();
	CHECK(jumplabel_up_leave() == 0 && jumplabel_up_enter() == 0);
	CHECK(jumplabel_up_is_on() && prefixes() == ALONE);
	operations();
	CHECK(jumplabel_up_leave() == 0 && !jumplabel_up_is_on() && prefixes() == LOCKED);
	operations();
}

/* Prints `lost in round N` if updates were lost. */
static void threads(int rounds)
{
	for (int round = 1; round <= rounds; round++) {
		CHECK(run_threads(4, add, NULL) == 0);
		if (up_swap32(&number, 0) != 4 * 300000) {
			printf("lost in round %d\n", round);
			exit(0);
		}
#ifdef INTERPOSE
		CHECK(!jumplabel_up_is_on() && prefixes() == LOCKED);
		enter_at_last();
		CHECK(jumplabel_up_is_on() && prefixes() == ALONE);
#endif
	}
}

static const char *plugin;

/* UP mode and the normal mode, as seen by a plugin, which may have its own instance of the library. */
static void late(void)
{
	struct up_atomic32 one = { 1 };
	int (*of_plugin)(void), (*plugin_is_on)(void), (*plugin_leave)(void);
	void (*plugin_add)(struct up_atomic32 *);

	for (int round = 0; round < 3; round++) {
		enter_at_last();
		void *object = dlopen(plugin, RTLD_NOW);

		if (!object)
			fprintf(stderr, "%s\n", dlerror());
		CHECK(object);
		void *found[] = { dlsym(object, "plugin_prefixes"), dlsym(object, "plugin_is_on"),
				  dlsym(object, "plugin_leave"), dlsym(object, "plugin_add") };
		memcpy(&of_plugin, &found[0], sizeof(of_plugin));
		memcpy(&plugin_is_on, &found[1], sizeof(plugin_is_on));
		memcpy(&plugin_leave, &found[2], sizeof(plugin_leave));
		memcpy(&plugin_add, &found[3], sizeof(plugin_add));
		plugin_add(&one);
		CHECK(of_plugin() == LOCKED && prefixes() == ALONE);
		if (round != 1) {
			enter_at_last();
			CHECK(of_plugin() == ALONE && prefixes() == ALONE);
			plugin_add(&one);
		}
		CHECK(plugin_is_on() && plugin_leave() == 0 && !plugin_is_on() && !jumplabel_up_is_on());
		CHECK(of_plugin() == LOCKED && prefixes() == LOCKED);
		CHECK(run_threads(4, add, NULL) == 0 && up_swap32(&number, 0) == 4 * 300000);
		plugin_add(&one);
		CHECK(dlclose(object) == 0);
	}
	CHECK(up_load32(&one) == 9);
}

/* Writes a byte over the first prefix of this program. */
static void damage(unsigned char byte)
{
	const struct jump_entry *entry = __start___jump_table;

	while ((entry->meta >> 2 & 15) != 6)
		entry++;
	unsigned char *site = (unsigned char *)jump_entry_code(entry);
	long page = sysconf(_SC_PAGESIZE);
	void *start = (void *)((uintptr_t)site & -(uintptr_t)page);

	CHECK(mprotect(start, (size_t)page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	*site = byte;
	CHECK(mprotect(start, (size_t)page, PROT_READ | PROT_EXEC) == 0);
}

static void refused(void)
{
	CHECK(jumplabel_up_is_on() && prefixes() == ALONE);
	damage(0xcc);
	CHECK(run_threads(1, add, NULL) == EADDRINUSE);
	CHECK(up_load32(&number) == 0 && jumplabel_up_is_on());
	damage(ALONE);
	CHECK(run_threads(1, add, NULL) == 0 && prefixes() == LOCKED);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "operations"))
		in_both_modes();
	else if (!strcmp(what, "threads"))
		threads(3);
	else if (!strcmp(what, "lost")) {
		CHECK(jumplabel_up_enter() == 0);
		threads(2000);
		if (beside < 100000) {
			puts("not shown: no two threads ran at once");
			return 0;
		}
	} else if (!strcmp(what, "refused"))
		refused();
	else if (!strcmp(what, "denied"))
		CHECK(!jumplabel_up_is_on() && prefixes() == LOCKED && run_threads(1, add, NULL) == 0);
	else if (!strcmp(what, "late") && argc > 2) {
		plugin = argv[2];
		operations();
		late();
	} else
		return 2;
	puts("ok");
	return 0;
}
