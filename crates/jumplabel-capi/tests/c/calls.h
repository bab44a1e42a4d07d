/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Static calls in different objects: the program (calls_host.c) and a plugin (calls_plugin.c). */
#ifndef CALLS_H
#define CALLS_H

#include <jumplabel.h>

/* In the program. The first is exported, the second is exported only to be called, the third is not exported. */
__attribute__((visibility("default"))) int program_target(int x);
DECLARE_STATIC_CALL(program_call, program_target);
DECLARE_STATIC_CALL(program_tramp, program_target);
DECLARE_STATIC_CALL(program_zero, program_target);
/* The program and the plugin each have a call of this name. */
DECLARE_STATIC_CALL(own_call, program_target);

struct plugin {
	/* These call the program's exported calls. */
	int (*call)(int x);
	int (*call_tramp)(int x);
	int (*call_own)(int x);
	/* Updates the program's exported call to a target in the plugin, or back. */
	int (*update)(bool to_plugin);
	/* Updates the plugin's own exported call. */
	int (*update_own)(bool back);
	/* Tells whether the program's call returns 0, in the plugin's view; makes it return 0. */
	bool (*is_zero)(void);
	int (*make_zero)(void);
	/* Returns the present target of the program's call. */
	int (*(*query)(void))(int x);
};

#endif
