/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "modules.h"

static DEFINE_STATIC_KEY_FALSE(own);

__attribute__((__dllexport__)) struct static_key *plugin_key(void)
{
	return &own.key;
}

/* Checks of keys of another module; plus 100 if the plugin's own key follows `on`. */
__attribute__((__dllexport__)) int plugin_state(bool on)
{
	if (on)
		static_branch_enable(&own);
	else
		static_branch_disable(&own);
	return STATE() + (static_branch_unlikely(&own) == on ? 100 : 0);
}
