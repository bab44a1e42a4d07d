/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracepoints whose notes `usdt::on_other_instruction_sets` reads. */
#define TRACE_SYSTEM net
#include <jumplabel.h>

struct three {
	int a, b, c;
};

DEFINE_TRACEPOINT(packet, TP_PROTO(size_t length, short port, const char *name), TP_ARGS(length, port, name));
DEFINE_TRACEPOINT(mixed,
		  TP_PROTO(struct three three, double real, bool truth, signed char c, unsigned char u, long long l, const void *pointer,
			   float small, unsigned q, unsigned long long r, const struct three *at, int last),
		  TP_ARGS(three, real, truth, c, u, l, pointer, small, q, r, at, last));

void emit(struct three three);
void emit(struct three three)
{
	trace_packet(60, -80, "hello");
	trace_mixed(three, 1.5, true, -7, 200, -5, &three, 2.5f, 4000000000u, ~0ull, &three, 9);
}
