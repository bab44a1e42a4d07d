/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program with static calls, which loads a plugin (calls_plugin.c), its first argument. The second argument is a plugin that must not load. Prints
   "ok". */
#include "calls.h"
#include "check.h"

#include <dlfcn.h>

int program_target(int x)
{
	return x + 1;
}

static int another(int x)
{
	return x + 2;
}

DEFINE_STATIC_CALL(program_call, program_target);
EXPORT_STATIC_CALL(program_call);
DEFINE_STATIC_CALL(program_tramp, program_target);
EXPORT_STATIC_CALL_TRAMP(program_tramp);
DEFINE_STATIC_CALL_RET0(program_zero, program_target);
EXPORT_STATIC_CALL_GPL(program_zero);
DEFINE_STATIC_CALL(own_call, program_target);

#ifndef JUMPLABEL_FALLBACK
static int (*function(void *handle, const char *name))(int x)
{
	void *symbol = dlsym(handle, name);
	int (*result)(int x) = NULL;

	CHECK(symbol);
	memcpy(&result, &symbol, sizeof(symbol));
	return result;
}
#endif

/* The plugin calls and updates the program's calls. */
static void from_plugin(const struct plugin *plugin)
{
	CHECK(plugin->call(1) == 2 && plugin->call_tramp(1) == 2 && plugin->query() == program_target);
	CHECK(static_call_update(program_call, another) == 0 && static_call_update(program_tramp, another) == 0);
	CHECK(plugin->call(1) == 3 && plugin->call_tramp(1) == 3 && plugin->query() == another);
	CHECK(plugin->update(true) == 0);
	CHECK(plugin->call(1) == 11 && static_call(program_call)(1) == 11 && static_call_query(program_call) == plugin->query());
	CHECK(plugin->update(false) == 0);
	CHECK(plugin->call(1) == 2 && static_call(program_call)(1) == 2 && static_call_query(program_call) == program_target);
	CHECK(static_call_update(program_tramp, program_target) == 0 && plugin->call_tramp(1) == 2);
}

/* The program and the plugin see the same __static_call_return0(), whether they share an instance of the library or not. */
static void zeros(const struct plugin *plugin)
{
	const jumplabel_function_ zero = (jumplabel_function_)__static_call_return0;

	CHECK(static_call(program_zero)(1) == 0 && plugin->is_zero());
	CHECK((jumplabel_function_)static_call_query(program_zero) == zero);
	CHECK(static_call_update(program_zero, program_target) == 0);
	CHECK(static_call(program_zero)(1) == 2 && !plugin->is_zero());
	CHECK(plugin->make_zero() == 0);
	CHECK(static_call(program_zero)(1) == 0 && plugin->is_zero());
	CHECK((jumplabel_function_)static_call_query(program_zero) == zero);
}

int main(int count, char **arguments)
{
	CHECK(count == 3);
	for (int round = 0; round < 3; round++) {
		void *handle = dlopen(arguments[1], RTLD_NOW);

		if (!handle)
			fprintf(stderr, "%s\n", dlerror());
		CHECK(handle);
		const struct plugin *plugin = (const struct plugin *)dlsym(handle, "plugin");
		CHECK(plugin);
		from_plugin(plugin);
		zeros(plugin);
#ifndef JUMPLABEL_FALLBACK
		/* The program calls the plugin's calls, which it finds by the names of their trampolines. */
		int (*call)(int x) = function(handle, STATIC_CALL_TRAMP_STR(plugin_call));
		CHECK(call(1) == 11 && function(handle, STATIC_CALL_TRAMP_STR(plugin_tramp))(1) == 11 && plugin->call_own(1) == 11);
		CHECK(plugin->update_own(false) == 0);
		CHECK(call(1) == -1 && plugin->call_own(1) == -1 && static_call(own_call)(1) == 2);
		CHECK(plugin->update_own(true) == 0);
		CHECK(call(1) == 11 && plugin->call_own(1) == 11);
		/* Names that are not exported cannot be found. */
		CHECK(dlsym(handle, "__SCC__plugin_call") && !dlsym(handle, "__SCC__plugin_tramp"));
		CHECK(!dlsym(handle, STATIC_CALL_TRAMP_STR(own_call)) && !dlsym(handle, "__SCC__own_call"));
		CHECK(!dlsym(handle, STATIC_CALL_KEY_STR(plugin_call)));
		CHECK(!dlopen(arguments[2], RTLD_NOW) && strstr(dlerror(), "__SCC__program_tramp"));
#endif
		CHECK(dlclose(handle) == 0 && !dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD));
		CHECK(static_call(program_call)(1) == 2);
	}
	printf("ok\n");
	return 0;
}
