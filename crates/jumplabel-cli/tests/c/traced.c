/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A tracepoint of C, and a static call that only looks like one of a tracepoint. */
#include <jumplabel.h>

#include <stdio.h>

DECLARE_TRACE(packet, TP_PROTO(int length), TP_ARGS(length));
DEFINE_TRACE(packet, TP_PROTO(int length), TP_ARGS(length));

static void probe(void *data, int length)
{
	(void)data;
	printf("%d\n", length);
}

int plain(int number);
int plain(int number)
{
	return number + 1;
}

DEFINE_STATIC_CALL(tp_func_nobody, plain);

int main(int count, char **words)
{
	(void)words;
	if (count > 1 && register_trace_packet(probe, NULL))
		return 1;
	trace_packet(static_call(tp_func_nobody)(count));
	return 0;
}
