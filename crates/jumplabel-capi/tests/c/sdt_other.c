/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Another file with checks of the same semaphores; also one of which all checks load, by the system's <sys/sdt.h>. */
#include "sdt.h"

int other_inlined(int x)
{
	return inlined(x);
}

/* No probe here: it is in sdt.c. */
int other_elsewhere(void)
{
	return SDT_ELSEWHERE_ENABLED() ? 1 : 0;
}

int other_packet(void)
{
	return SDT_PACKET_SENT_ENABLED() ? 1 : 0;
}
