/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by tests/c/sdt.c and sdt_other.c. `dtrace -h` makes sdt_probes.h from sdt.d. */
#include "sdt_probes.h"

/* Both files have this function: one key, two probes. */
static inline int inlined(int x)
{
	int on = 0;

	if (SDT_INLINED_ENABLED()) {
		SDT_INLINED(x);
		on = 1;
	}
	return on;
}

#ifdef __cplusplus
extern "C" {
#endif
int other_inlined(int x);
int other_elsewhere(void);
int other_packet(void);
#ifdef __cplusplus
}
#endif
