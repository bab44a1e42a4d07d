/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define MODULES_KEYS
#include "modules.h"

DEFINE_STATIC_KEY_FALSE(module_off);
DEFINE_STATIC_KEY_TRUE(module_on);

int module_state(void)
{
	return STATE();
}

void module_set(bool on)
{
	if (on)
		static_branch_enable(&module_off), static_branch_disable(&module_on);
	else
		static_branch_disable(&module_off), static_branch_enable(&module_on);
}

int module_one(int x)
{
	return x + 1;
}

DEFINE_STATIC_CALL(module_call, module_one);
EXPORT_STATIC_CALL(module_call);

int module_call_it(int x)
{
	return static_call(module_call)(x);
}
