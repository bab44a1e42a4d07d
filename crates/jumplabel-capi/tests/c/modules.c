/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Keys of a DLL, checked by a program, and by another DLL that is loaded and unloaded. Each of the three has its own instance of the library. The
 * argument is the path of that other DLL. Prints "ok" at the end.
 */
#include "check.h"
#include "modules.h"

#include <errno.h>
#include <pthread.h>
#include <windows.h>

static int three(int x)
{
	return x + 3;
}

#ifdef JUMPLABEL_FALLBACK
enum { SITES = 0 };
#else
enum { SITES = 1 };
#endif

static void count_site(const struct jumplabel_site *site, void *data)
{
	(void)site;
	++*(int *)data;
}

/* The number of a key's sites, in all modules. */
static int sites_of(struct static_key *key)
{
	int count = 0;

	CHECK(jumplabel_for_each_site(key, count_site, &count) == count);
	return count;
}

__attribute__((__noinline__)) static int state(void)
{
	return STATE();
}

struct plugin {
	HMODULE module;
	int (*state)(bool on);
	struct static_key *own;
};

static struct plugin load(const char *path)
{
	struct plugin plugin;
	struct static_key *(*key)(void);
	FARPROC found;

	plugin.module = LoadLibraryA(path);
	CHECK(plugin.module);
	found = GetProcAddress(plugin.module, "plugin_state");
	CHECK(found);
	memcpy(&plugin.state, &found, sizeof(found));
	found = GetProcAddress(plugin.module, "plugin_key");
	CHECK(found);
	memcpy(&key, &found, sizeof(found));
	plugin.own = key();
	return plugin;
}

static DEFINE_STATIC_KEY_FALSE(other);
static int stop, flips;

static void *flip(void *data)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK(jumplabel_enable(&other.key) == 0 && static_branch_unlikely(&other));
		CHECK(jumplabel_disable(&other.key) == 0 && !static_branch_unlikely(&other));
		__atomic_fetch_add(&flips, 2, __ATOMIC_RELAXED);
	}
	return data;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	struct plugin plugin;

	CHECK(count == 2);
	jumplabel_set_warn(note_warning, NULL);
	CHECK(state() == 22 && module_state() == 22);
	for (int round = 0; round < 20; round++) {
		/* The program flips, and then the DLL. */
		static_branch_enable(&module_off);
		CHECK(state() == 33 && module_state() == 33 && static_key_enabled(&module_off) && static_key_count(&module_on) == 1);
		static_branch_disable(&module_on);
		CHECK(state() == 11 && module_state() == 11);
		/* The plugin is loaded when both keys are flipped, and sees this from the start. */
		plugin = load(arguments[1]);
		CHECK(plugin.state(true) == 111 && plugin.state(false) == 111);
		CHECK(sites_of(jumplabel_key(&module_off)) == 6 * SITES);
		module_set(false);
		CHECK(state() == 22 && module_state() == 22 && plugin.state(true) == 122);
		CHECK(FreeLibrary(plugin.module));
		CHECK(sites_of(jumplabel_key(&module_off)) == 4 * SITES);
		/* The plugin's key is not there any more. */
		CHECK(jumplabel_enable(plugin.own) == -EINVAL && jumplabel_disable(plugin.own) == -EINVAL);
		module_set(true);
		CHECK(state() == 11 && module_state() == 11);
		module_set(false);
		CHECK(static_call(module_call)(round) == round + 1 && module_call_it(round) == round + 1);
		CHECK(static_call_update(module_call, three) == 0);
		CHECK(static_call(module_call)(round) == round + 3 && module_call_it(round) == round + 3);
		CHECK(static_call_update(module_call, module_one) == 0);
	}
	CHECK(pthread_create(&thread, NULL, flip, NULL) == 0);
	for (int round = 0; round < 50; round++) {
		bool on = round & 1;

		module_set(on);
		plugin = load(arguments[1]);
		CHECK(plugin.state(on) == (on ? 111 : 122));
		module_set(!on);
		CHECK(plugin.state(!on) == (on ? 122 : 111) && state() == (on ? 22 : 11));
		CHECK(FreeLibrary(plugin.module));
	}
	while (!__atomic_load_n(&flips, __ATOMIC_RELAXED))
		Sleep(1);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(warnings == 0 && jumplabel_verify() == 0);
	printf("ok %d\n", checks);
	return 0;
}
