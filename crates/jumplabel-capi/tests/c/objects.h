/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Keys and sites in different objects: the program (host.c), a library of keys (keys.c) and a plugin (plugin.c).
 * A state has four bits: the results of an unlikely and a likely check of each of two keys.
 */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <jumplabel.h>

#define STATE(starts_off, starts_on)                                                                                   \
	(static_branch_unlikely(&starts_off) | static_branch_likely(&starts_off) << 1 |                                \
	 static_branch_unlikely(&starts_on) << 2 | static_branch_likely(&starts_on) << 3)
#define STATE_DEFAULT 12
#define STATE_FLIPPED 3

#ifdef __cplusplus
extern "C" {
#endif

/* In the program. */
DECLARE_STATIC_KEY_FALSE(program_off);
DECLARE_STATIC_KEY_TRUE(program_on);
/* In the library of keys. */
DECLARE_STATIC_KEY_FALSE(library_off);
DECLARE_STATIC_KEY_TRUE(library_on);
extern struct static_key_false_deferred library_late;

/* The plugin: checks of the program's keys, of the library's and of its own; `at_load` is the first of these in the plugin's constructor. */
struct plugin {
	int (*program_state)(void);
	int (*library_state)(void);
	int (*own_state)(void);
	/* Flips its own two keys, with the instance of the library that it is linked with. */
	void (*flip_own)(bool flipped);
	int at_load;
	struct static_key_false *own_off;
	struct static_key_true *own_on;
};

#ifdef __cplusplus
}
#endif

#endif
