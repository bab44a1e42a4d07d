/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin with lock prefixes. */
#include "up.h"

#ifdef __cplusplus
extern "C" {
#endif
int plugin_prefixes(void);
void plugin_add(struct up_atomic32 *number);
#ifdef __cplusplus
}
#endif

int plugin_prefixes(void)
{
	return prefixes();
}

void plugin_add(struct up_atomic32 *number)
{
	up_add32(number, 1);
}
