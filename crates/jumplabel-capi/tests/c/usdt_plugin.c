/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin with a tracepoint: usdt.c loads it. */
#define TRACE_SYSTEM plugged
#include <jumplabel.h>

DEFINE_TRACEPOINT(point, TP_PROTO(int number), TP_ARGS(number));

void emit(void);
void emit(void)
{
	trace_point(1);
}

bool is_on(void);
bool is_on(void)
{
	return trace_point_enabled();
}
