/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program that is not linked with the library. It loads a plugin that is linked with libjumplabel.so, flips, forks, and unloads the plugin. Then
 * the library stays loaded, and the plugin does not.
 */
#include "objects.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

static void load_flip_fork_unload(const char *file)
{
	void *object = dlopen(file, RTLD_NOW);
	CHECK(object);
	struct plugin *plugin = (struct plugin *)dlsym(object, "plugin");
	CHECK(plugin && plugin->own_state() == STATE_DEFAULT);
	plugin->flip_own(true);
	pid_t child = fork();
	if (child == 0) {
		plugin->flip_own(false);
		_exit(plugin->own_state() != STATE_DEFAULT);
	}
	int status = -1;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(plugin->own_state() == STATE_FLIPPED);
	plugin->flip_own(false);
	CHECK(dlclose(object) == 0);
	CHECK(dlopen(file, RTLD_NOW | RTLD_NOLOAD) == NULL);
	CHECK(dlopen("libjumplabel.so.0", RTLD_NOW | RTLD_NOLOAD));
}

int main(int argc, char **argv)
{
	for (int round = 0; argc == 2 && round < 10; round++)
		load_flip_fork_unload(argv[1]);
	puts("ok");
	return 0;
}
