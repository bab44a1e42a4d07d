/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin that calls and updates static calls of its program, and has calls of its own. */
#include "calls.h"

static int plugin_target(int x)
{
	return x + 10;
}

static int negate(int x)
{
	return -x;
}

DEFINE_STATIC_CALL(plugin_call, plugin_target);
EXPORT_STATIC_CALL(plugin_call);
DEFINE_STATIC_CALL(plugin_tramp, plugin_target);
EXPORT_STATIC_CALL_TRAMP(plugin_tramp);
DEFINE_STATIC_CALL(own_call, plugin_target);

static int call(int x)
{
	return static_call(program_call)(x);
}

static int call_tramp(int x)
{
	return static_call_mod(program_tramp)(x);
}

static int call_own(int x)
{
	return static_call(own_call)(x);
}

static int update(bool to_plugin)
{
#ifdef UPDATES_A_TRAMP
	static_call_update(program_tramp, plugin_target);
#endif
	return static_call_update(program_call, to_plugin ? plugin_target : program_target);
}

static int update_own(bool back)
{
	return static_call_update(plugin_call, back ? plugin_target : negate) |
	       static_call_update(own_call, back ? plugin_target : negate);
}

static bool is_zero(void)
{
	return (jumplabel_function_)static_call_query(program_zero) == (jumplabel_function_)__static_call_return0;
}

static int make_zero(void)
{
	return static_call_update(program_zero, __extension__(void *)&__static_call_return0);
}

static int (*query(void))(int x)
{
	return static_call_query(program_call);
}

__attribute__((visibility("default"))) const struct plugin plugin = {
	call, call_tramp, call_own, update, update_own, is_zero, make_zero, query,
};
