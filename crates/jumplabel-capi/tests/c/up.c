/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * UP mode in C and C++:
 *
 *     up operations              each operation against what it should yield, in both modes
 *     up threads                 numbers that threads of a library add to; with INTERPOSE, pthread_create() is caught
 *     up late PLUGIN             a plugin that is loaded before, after, and when there are threads already
 *     up refused                 with INTERPOSE, and a writer that there is not: no thread starts
 *     up aborts PLUGIN           the same, without: a plugin that is loaded beside threads
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

static void *add(void *argument)
{
	for (int round = 0; round < 300000; round++)
		up_add32(&number, 1);
	return argument;
}

/* One that was joined may be on its way out. */
static void enter_at_last(void)
{
	int error;

	while ((error = jumplabel_up_enter()) == -EAGAIN)
		sched_yield();
	CHECK(error == 0);
}

static void in_both_modes(void)
{
	CHECK(jumplabel_up_is_on() && prefixes() == ALONE);
	operations();
	CHECK(jumplabel_up_leave() == 0 && !jumplabel_up_is_on() && prefixes() == LOCKED);
	operations();
	CHECK(jumplabel_up_leave() == 0);
	enter_at_last();
	CHECK(jumplabel_up_is_on() && prefixes() == ALONE);
}

/* `lost N` where updates were lost: where nobody puts the prefixes in. */
static void threads(void)
{
	CHECK(jumplabel_up_is_on() && prefixes() == ALONE);
	for (int round = 1; round <= 200; round++) {
		CHECK(run_threads(4, add, NULL) == 0);
#ifdef INTERPOSE
		CHECK(!jumplabel_up_is_on() && prefixes() == LOCKED);
		enter_at_last();
#endif
		if (up_swap32(&number, 0) != 4 * 300000) {
			printf("lost in round %d\n", round);
			exit(0);
		}
#ifdef INTERPOSE
		if (round == 3)
			break;
#endif
	}
}

static const char *plugin;

/* Loads, and unloads; what prefixes the plugin has. */
static int loaded(void)
{
	struct up_atomic32 one = { 1 };
	int (*of_plugin)(void);
	void (*plugin_add)(struct up_atomic32 *);
	void *object = dlopen(plugin, RTLD_NOW);

	if (!object)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(object);
	void *found[] = { dlsym(object, "plugin_prefixes"), dlsym(object, "plugin_add") };
	memcpy(&of_plugin, &found[0], sizeof(of_plugin));
	memcpy(&plugin_add, &found[1], sizeof(plugin_add));
	plugin_add(&one);
	CHECK(up_load32(&one) == 2);
	int byte = of_plugin();
	/* Changed while it is there. */
	if (byte == ALONE) {
		CHECK(jumplabel_up_leave() == 0 && of_plugin() == LOCKED);
		enter_at_last();
		CHECK(of_plugin() == ALONE && prefixes() == ALONE);
	}
	CHECK(dlclose(object) == 0);
	return byte;
}

static void *load(void *argument)
{
	(void)argument;
	CHECK(loaded() == LOCKED && prefixes() == LOCKED);
	return NULL;
}

static void late(void)
{
	for (int round = 0; round < 3; round++) {
		CHECK(loaded() == ALONE && prefixes() == ALONE);
		CHECK(jumplabel_up_leave() == 0 && loaded() == LOCKED);
		enter_at_last();
		/* Nobody has put them in; then an object comes that would lose updates. */
		CHECK(run_threads(1, load, NULL) == 0);
		enter_at_last();
	}
}

static void refused(void)
{
	CHECK(run_threads(1, add, NULL) == ENOENT);
	CHECK(up_load32(&number) == 0 && jumplabel_up_is_on() && prefixes() == ALONE);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "operations"))
		in_both_modes();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "refused")) {
		operations();
		refused();
	} else if (!strcmp(what, "aborts") && argc > 2) {
		plugin = argv[2];
		run_threads(1, load, NULL);
	} else if (!strcmp(what, "late") && argc > 2) {
		plugin = argv[2];
		operations();
		late();
	} else
		return 2;
	puts("ok");
	return 0;
}
