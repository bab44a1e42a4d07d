/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tracepoints of tracing.c, to which a plugin adds probes, too. */
#ifndef TRACING_H
#define TRACING_H

#include <jumplabel.h>

struct noted {
	unsigned int magic;
	unsigned int count;
};

enum { ALIVE = 0x600d600d, DEAD = 0xdead };

DECLARE_TRACE(step, TP_PROTO(unsigned int x), TP_ARGS(x));
DECLARE_TRACE(stop, TP_PROTO(unsigned int x), TP_ARGS(x));

#endif
