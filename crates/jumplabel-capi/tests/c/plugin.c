/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A plugin. With SOLO, it checks only its own keys. It flips its own keys in a constructor and in a destructor, where its sites must follow, too.
 */
#include "objects.h"

#ifdef BREAK_THE_MARK
#undef JUMPLABEL_OBJECT_OF_TYPED_
#define JUMPLABEL_OBJECT_OF_TYPED_ jumplabel_object_
#endif

#include <stdlib.h>

extern __attribute__((weak)) struct static_key_false nobody_defines;
DEFINE_STATIC_KEY_FALSE(own_off);
static DEFINE_STATIC_KEY_TRUE(own_on);

static int own_state(void)
{
	return STATE(own_off, own_on);
}

#ifdef SOLO
#define program_state own_state
#define library_state own_state
#else
static int program_state(void)
{
	return STATE(program_off, program_on);
}

static int library_state(void)
{
	return STATE(library_off, library_on);
}
#endif

static void flip_own(bool flipped)
{
	if (jumplabel_enable(flipped ? &own_off.key : &own_on.key) || jumplabel_disable(flipped ? &own_on.key : &own_off.key))
		abort();
	if (own_state() != (flipped ? STATE_FLIPPED : STATE_DEFAULT))
		abort();
}

__attribute__((visibility("default"))) struct plugin plugin = {
	program_state, library_state, own_state, flip_own, -1, &own_off, &own_on,
};

/* Runs before all other constructors. */
__attribute__((constructor(101))) static void loading(void)
{
	plugin.at_load = program_state();
}

__attribute__((constructor)) static void loaded(void)
{
	if (static_branch_unlikely(&nobody_defines))
		abort();
	flip_own(true);
	flip_own(false);
}

__attribute__((destructor)) static void unloaded(void)
{
	if (static_key_count(&own_off) > 1 || static_key_count(&own_on) > 1)
		abort();
	flip_own(true);
}
