/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Static calls in different objects: the program (calls_host.c) and a plugin (calls_plugin.c). */
#ifndef CALLS_H
#define CALLS_H

#include <jumplabel.h>

/* In the program: exported, exported to be called, not exported. */
__attribute__((visibility("default"))) int program_target(int x);
DECLARE_STATIC_CALL(program_call, program_target);
DECLARE_STATIC_CALL(program_tramp, program_target);
DECLARE_STATIC_CALL(program_zero, program_target);
/* In both, and not the same. */
DECLARE_STATIC_CALL(own_call, program_target);

struct plugin {
	/* Calls what the program exports. */
	int (*call)(int x);
	int (*call_tramp)(int x);
	int (*call_own)(int x);
	/* Updates what the program exports: to a target in the plugin, and back. */
	int (*update)(bool to_plugin);
	/* Updates its own exported call. */
	int (*update_own)(bool back);
	/* Whether the program's call returns 0, as the plugin sees it; makes it return 0. */
	bool (*is_zero)(void);
	int (*make_zero)(void);
	/* Where the program's call leads now. */
	int (*(*query)(void))(int x);
};

#endif
