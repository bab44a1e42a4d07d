/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin with lock prefixes. */
#include "up.h"

#ifdef __cplusplus
extern "C" {
#endif
int plugin_prefixes(void);
int plugin_is_on(void);
int plugin_leave(void);
void plugin_add(struct up_atomic32 *number);
#ifdef __cplusplus
}
#endif

int plugin_prefixes(void)
{
	return prefixes();
}

int plugin_is_on(void)
{
	return jumplabel_up_is_on();
}

int plugin_leave(void)
{
	return jumplabel_up_leave();
}

void plugin_add(struct up_atomic32 *number)
{
	up_add32(number, 1);
}
