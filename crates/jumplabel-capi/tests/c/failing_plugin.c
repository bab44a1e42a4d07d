/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library with a point: tests/c/failing.c loads it. */
#include <jumplabel.h>
#include <jumplabel/fail.h>

#include <stdlib.h>

__attribute__((visibility("default"))) int plugin_point(int otherwise)
{
	JUMPLABEL_FAIL_POINT("plugin", text, return atoi(text));
	return otherwise;
}

/* Configures a point in the registry that this library is linked with. */
__attribute__((visibility("default"))) int plugin_configure(const char *name, const char *actions)
{
	return jumplabel_fail_cfg(name, actions);
}
