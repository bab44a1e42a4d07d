/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Another file that checks the same semaphores. It is also compiled with the system's <sys/sdt.h>, so that all its checks load. */
#include "sdt.h"

int other_inlined(int x)
{
	return inlined(x);
}

/* This file has only the check. The probe is in sdt.c. */
int other_elsewhere(void)
{
	return SDT_ELSEWHERE_ENABLED() ? 1 : 0;
}

int other_packet(void)
{
	return SDT_PACKET_SENT_ENABLED() ? 1 : 0;
}
