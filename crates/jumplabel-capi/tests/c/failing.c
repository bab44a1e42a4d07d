/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fail points: tests/capi/fail.rs. Compiled as C and as C++. Without arguments, checks each form. With arguments:
 *
 *     panic, cannot-return    must end by abort()
 *     plugin PATH [own]       loads a library, tests/c/failing_plugin.c; `own`: the library has a registry of its own
 *     serve WORDS             starts an agent; for each line on standard input, prints the results of two points
 */
#include <jumplabel.h>
#include <jumplabel/agent.h>
#include <jumplabel/fail.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "failing.h"
#include "failing_forms.h"

static void check_errors(void)
{
	CHECK(!jumplabel_fail_cfg("expression", "return(1)"));
	CHECK(jumplabel_fail_cfg("expression", "Return") == -EINVAL);
	CHECK(!strcmp(jumplabel_fail_error(), "unrecognized command \"Return\""));
	CHECK(jumplabel_fail_cfg(NULL, "return") == -EINVAL && jumplabel_fail_cfg("expression", NULL) == -EINVAL);
	CHECK(jumplabel_fail_cfg_callback("expression", NULL, NULL) == -EINVAL);
	CHECK(jumplabel_fail_cfg("expression", "\xff") == -EINVAL);
	jumplabel_fail_remove(NULL);
	CHECK(expression() == 1);

	setenv("FAILPOINTS", "block=return(3);expression=return(4)", 1);
	CHECK(!jumplabel_fail_setup() && expression() == 4 && block() == 10 && errno == 3);
	{
		static char end[] = ";";

		CHECK(jumplabel_fail_list(note, end) == 2 && !strcmp(listed, "block=return(3);expression=return(4);"));
	}
	setenv("FAILPOINTS", "block=return(3);expression=panick", 1);
	CHECK(jumplabel_fail_setup() == -EINVAL && !block());
	CHECK(!strcmp(jumplabel_fail_error(), "unable to configure failpoint \"expression\": unrecognized command \"panick\""));
	unsetenv("FAILPOINTS");
	CHECK(!jumplabel_fail_setup() && jumplabel_fail_list(NULL, NULL) == 0);
}

/* A point that several files have. In C++ it is one function with one key. */
static void check_several(void)
{
#ifndef JUMPLABEL_FALLBACK
	struct found found = keys("fail:shared");

	CHECK(found.sites >= found.keys && found.keys == SHARED_KEYS && !found.on);
	CHECK(keys("fail:expression").keys == 1);
#endif
	CHECK(shared(0) + shared_elsewhere() == 0);
	CHECK(!jumplabel_fail_cfg("shared", "return(2)"));
	CHECK(shared(0) + shared_elsewhere() == 4);
	jumplabel_fail_remove("shared");
	CHECK(shared(0) + shared_elsewhere() == 0);
}

static int passed;

static void *pause_there(void *data)
{
	(void)data;
	plain();
	__atomic_store_n(&passed, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int arrived;

static void arrive(void *data)
{
	(void)data;
	/* This action is over. The main thread configures the next one before this thread comes here again. */
	__atomic_store_n(&arrived, 1, __ATOMIC_RELEASE);
}

static void *loop_there(void *data)
{
	while (!__atomic_load_n((int *)data, __ATOMIC_ACQUIRE))
		plain();
	return NULL;
}

static void check_threads(void)
{
	pthread_t thread;
	int end = 0, round;

	CHECK(!jumplabel_fail_cfg("plain", "pause"));
	CHECK(!pthread_create(&thread, NULL, pause_there, NULL));
	for (round = 0; round < 1000; round++)
		CHECK(!__atomic_load_n(&passed, __ATOMIC_ACQUIRE));
	jumplabel_fail_remove("plain");
	CHECK(!pthread_join(thread, NULL) && passed);

	/* A thread passes the point again and again while it is configured. */
	CHECK(!pthread_create(&thread, NULL, loop_there, &end));
	for (round = 0; round < 200; round++) {
		arrived = 0;
		CHECK(!jumplabel_fail_cfg_callback("plain", arrive, NULL));
		while (!__atomic_load_n(&arrived, __ATOMIC_ACQUIRE))
			;
		CHECK(!jumplabel_fail_cfg("plain", "yield"));
		jumplabel_fail_remove("plain");
	}
	__atomic_store_n(&end, 1, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL));
}

/* Points of a library. `own`: it has a registry of its own. Then the two registries do not influence each other. */
static int with_plugin(const char *path, int own)
{
	int (*point)(int);
	int (*configure)(const char *, const char *);
	void *plugin;

	CHECK(!jumplabel_fail_cfg("plugin", "return(5)"));
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(plugin);
	*(void **)&point = dlsym(plugin, "plugin_point");
	*(void **)&configure = dlsym(plugin, "plugin_configure");
	CHECK(point && configure);
	CHECK(point(1) == 1 || own == 0);
	CHECK(!jumplabel_fail_sync());
	CHECK(point(1) == (own ? 1 : 5));
	CHECK(!configure("plugin", "return(6)"));
	CHECK(point(1) == 6);
	CHECK(!jumplabel_fail_cfg("expression", "return(8)") && expression() == 8);
	CHECK(point(1) == 6);
	/* This name is known only to the other registry, if there are two. */
	CHECK(!configure("another", "return") && expression() == 8);
	CHECK(!jumplabel_fail_cfg("plugin", "return(7)"));
	CHECK(point(1) == (own ? 6 : 7));
	jumplabel_fail_teardown();
	CHECK(point(1) == (own ? 6 : 1));
	CHECK(!dlclose(plugin));
	CHECK(!jumplabel_fail_cfg("expression", "return(8)") && expression() == 8);
	return 0;
}

static int serve(const char *words)
{
	char line[64];

	CHECK(jumplabel_agent_serve(NULL) == -EINVAL);
	CHECK(!jumplabel_agent_serve(jumplabel_fail_layer()) && !jumplabel_agent_serve(jumplabel_fail_layer()));
	CHECK(!jumplabel_agent_start(words, NULL, NULL));
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%d %d\n", expression(), block());
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "panic")) {
		CHECK(!jumplabel_fail_cfg("plain", "print(still alive)->off"));
		plain();
		CHECK(!jumplabel_fail_cfg("plain", "panic(disk on fire)"));
		return plain();
	}
	if (argc == 2 && !strcmp(argv[1], "cannot-return")) {
		CHECK(!jumplabel_fail_cfg("plain", "return"));
		return plain();
	}
	if (argc > 2 && !strcmp(argv[1], "plugin"))
		return with_plugin(argv[2], argc > 3);
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	check_forms();
	check_errors();
	check_several();
	check_threads();
	check_cxx();
	puts("ok");
	return 0;
}
