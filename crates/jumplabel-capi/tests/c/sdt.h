/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What tests/c/sdt.c and sdt_other.c share. sdt_probes.h is what `dtrace -h` makes of sdt.d. */
#include "sdt_probes.h"

/* In both files: one key, two probes. */
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
