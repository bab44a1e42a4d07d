/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program that loads plugins while keys flip. Its arguments are the case, the plugin, and, for some cases, a library of keys. Prints "ok".
 */
#include "checked.h"
#include "objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

DEFINE_STATIC_KEY_FALSE(program_off);
DEFINE_STATIC_KEY_TRUE(program_on);

static const char *plugin_path, *keys_path;

static int program_state(void)
{
	return STATE(program_off, program_on);
}

static void flip(struct static_key_false *starts_off, struct static_key_true *starts_on, bool flipped)
{
	struct jumplabel_change changes[] = { { &starts_off->key, flipped }, { &starts_on->key, !flipped } };

	CHECK(jumplabel_set_all(changes, 2) == 0);
}

static void *load(const char *path, int flags)
{
	void *handle = dlopen(path, flags);

	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(handle);
	return handle;
}

static const struct plugin *plugin_of(void *handle)
{
	const struct plugin *plugin = (const struct plugin *)dlsym(handle, "plugin");

	CHECK(plugin);
	return plugin;
}

static void check_program_keys(const struct plugin *plugin)
{
	CHECK(plugin->program_state() == program_state());
	flip(&program_off, &program_on, true);
	CHECK(program_state() == STATE_FLIPPED && plugin->program_state() == STATE_FLIPPED);
	flip(&program_off, &program_on, false);
	CHECK(program_state() == STATE_DEFAULT && plugin->program_state() == STATE_DEFAULT);
}

static void check_own_keys(const struct plugin *plugin)
{
	CHECK(plugin->own_state() == STATE_DEFAULT);
	flip(plugin->own_off, plugin->own_on, true);
	CHECK(plugin->own_state() == STATE_FLIPPED);
	flip(plugin->own_off, plugin->own_on, false);
	CHECK(plugin->own_state() == STATE_DEFAULT);
}

/* The plugin is loaded before any flip, and after one, with each way to look up symbols. */
static void load_before_and_after(void)
{
	static const int flags[] = { RTLD_NOW | RTLD_LOCAL, RTLD_LAZY | RTLD_GLOBAL, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };

	for (int round = 0; round < 6; round++) {
		bool flipped = round & 1;
		void *handle = NULL;

		flip(&program_off, &program_on, flipped);
		handle = load(plugin_path, flags[round / 2]);
		CHECK(plugin_of(handle)->at_load == (flipped ? STATE_FLIPPED : STATE_DEFAULT));
		CHECK(plugin_of(handle)->program_state() == plugin_of(handle)->at_load);
		check_program_keys(plugin_of(handle));
		check_own_keys(plugin_of(handle));
		CHECK(dlclose(handle) == 0);
		CHECK(!dlopen(plugin_path, RTLD_NOW | RTLD_NOLOAD));
	}
}

/* Keys in one library, with sites in another library and in the program. */
static void keys_in_a_library(void)
{
	void *keys = load(keys_path, RTLD_NOW | RTLD_GLOBAL);
	struct static_key_false *off = (struct static_key_false *)dlsym(keys, "library_off");
	struct static_key_true *on = (struct static_key_true *)dlsym(keys, "library_on");
	void *handle = NULL;

	flip(off, on, true);
	handle = load(plugin_path, RTLD_NOW);
	CHECK(plugin_of(handle)->library_state() == STATE_FLIPPED);
	flip(off, on, false);
	CHECK(plugin_of(handle)->library_state() == STATE_DEFAULT);

	/* The keys' library is closed before its user. It stays loaded as long as it is needed, so nothing crashes. */
	CHECK(dlclose(keys) == 0);
	check_program_keys(plugin_of(handle));
	CHECK(plugin_of(handle)->library_state() == STATE_DEFAULT);
	CHECK(dlclose(handle) == 0);
	flip(&program_off, &program_on, true);
	CHECK(program_state() == STATE_FLIPPED);
}

static char last_warning[512];

static void note_warning(const char *message, void *data)
{
	(void)data;
	snprintf(last_warning, sizeof(last_warning), "%s", message);
}

#define WARNS(statement)                                                                                               \
	do {                                                                                                           \
		last_warning[0] = 0;                                                                                   \
		statement;                                                                                             \
		CHECK(strstr(last_warning, "unloaded"));                                                               \
	} while (0)

/* Keys of a library that was unloaded. */
static void keys_that_are_gone(void)
{
	void *keys = load(keys_path, RTLD_NOW);
	struct static_key_false *off = (struct static_key_false *)dlsym(keys, "library_off");
	struct jumplabel_change changes[] = { { &program_off.key, true }, { &off->key, true } };

	CHECK(jumplabel_enable(&off->key) == 0 && dlclose(keys) == 0 && !dlopen(keys_path, RTLD_NOW | RTLD_NOLOAD));
	jumplabel_set_warn(note_warning, NULL);
	CHECK(jumplabel_disable(&off->key) == -EINVAL && jumplabel_inc(&off->key) == -EINVAL);
	CHECK(jumplabel_seal(&off->key) == -EINVAL && jumplabel_restore_pristine(&off->key) == -EINVAL);
	CHECK(jumplabel_dec_deferred((struct static_key_deferred *)off) == -EINVAL);
	WARNS(static_branch_disable(off));
	WARNS(CHECK(!static_branch_inc(off)));
	WARNS(static_branch_dec(off));
	WARNS(static_key_slow_dec_deferred((struct static_key_deferred *)off));
	jump_label_lock();
	WARNS(static_branch_enable_cpuslocked(off));
	jump_label_unlock();
	CHECK(jumplabel_set_all(changes, 2) == -EINVAL && program_state() == STATE_DEFAULT);
	jumplabel_set_warn(NULL, NULL);
}

/* A library with a deferred key and no sites: the key is flushed, then the library is unloaded. */
static void deferred_key_that_is_gone(void)
{
	static DEFINE_STATIC_KEY_DEFERRED_FALSE(late, 1);
	void *keys = load(keys_path, RTLD_NOW);
	struct static_key_false_deferred *gone = (struct static_key_false_deferred *)dlsym(keys, "library_late");

	for (int i = 0; i < 2; i++) {
		CHECK(static_branch_deferred_inc(gone));
		static_branch_slow_dec_deferred(gone);
		CHECK(static_key_count(&gone->key) == 1);
		static_key_deferred_flush(gone);
		CHECK(static_key_count(&gone->key) == 0);
	}
	CHECK(dlclose(keys) == 0 && !dlopen(keys_path, RTLD_NOW | RTLD_NOLOAD));
	CHECK(static_branch_deferred_inc(&late));
	static_branch_slow_dec_deferred(&late);
	for (int i = 0; i < 2000 && static_key_enabled(&late.key); i++)
		usleep(5000);
	CHECK(!static_key_enabled(&late.key));
}

static int stop;

static void *keep_flipping(void *nothing)
{
	(void)nothing;
	for (bool flipped = true; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); flipped = !flipped)
		flip(&program_off, &program_on, flipped);
	return NULL;
}

/* A plugin is loaded and unloaded while another thread flips. */
static void load_in_a_loop(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, keep_flipping, NULL) == 0);
	for (int i = 0; i < 1000; i++) {
		void *handle = load(plugin_path, RTLD_NOW);

		CHECK(plugin_of(handle)->own_state() == STATE_DEFAULT);
		CHECK(dlclose(handle) == 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	CHECK(pthread_join(thread, NULL) == 0);
	flip(&program_off, &program_on, true);
	CHECK(program_state() == STATE_FLIPPED);
}

/* Another namespace has its own instance of the library, which flips the keys of that namespace. */
static void own_namespace(void)
{
	void *handle = dlmopen(LM_ID_NEWLM, plugin_path, RTLD_NOW);

	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(handle);
	plugin_of(handle)->flip_own(true);
	CHECK(program_state() == STATE_DEFAULT && plugin_of(handle)->own_state() == STATE_FLIPPED);
	plugin_of(handle)->flip_own(false);
	flip(&program_off, &program_on, true);
	CHECK(program_state() == STATE_FLIPPED && plugin_of(handle)->own_state() == STATE_DEFAULT);
	CHECK(dlclose(handle) == 0);
	flip(&program_off, &program_on, false);
	CHECK(program_state() == STATE_DEFAULT);
}

static void at_exit(void)
{
	flip(&program_off, &program_on, true);
	CHECK(program_state() == STATE_FLIPPED);
	printf("at exit\n");
}

__attribute__((destructor)) static void last(void)
{
	flip(&program_off, &program_on, false);
	CHECK(program_state() == STATE_DEFAULT);
}

__attribute__((constructor(101))) static void first(void)
{
	CHECK(jumplabel_enable(&program_off.key) == 0);
}

__attribute__((constructor)) static void second(void)
{
	CHECK(static_branch_unlikely(&program_off) && static_branch_likely(&program_off));
	CHECK(jumplabel_disable(&program_off.key) == 0);
	CHECK(program_state() == STATE_DEFAULT);
}

int main(int count, char **arguments)
{
	CHECK(count >= 3 && atexit(at_exit) == 0);
	plugin_path = arguments[2];
	keys_path = count > 3 ? arguments[3] : NULL;
	if (!strcmp(arguments[1], "load"))
		load_before_and_after();
	else if (!strcmp(arguments[1], "keys"))
		keys_in_a_library();
	else if (!strcmp(arguments[1], "gone"))
		keys_that_are_gone();
	else if (!strcmp(arguments[1], "late"))
		deferred_key_that_is_gone();
	else if (!strcmp(arguments[1], "loop"))
		load_in_a_loop();
	else if (!strcmp(arguments[1], "namespace"))
		own_namespace();
	else
		CHECK(!"a case");
	printf("ok\n");
	return 0;
}
