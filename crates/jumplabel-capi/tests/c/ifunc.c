/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flip in an IFUNC resolver is refused. The loader, or the start of a static program, calls the resolver before any constructor. */
#include "check.h"

#include <errno.h>

static DEFINE_STATIC_KEY_FALSE(key);
static int early;
#ifndef QUIET
static int registered, synchronized;
#endif

DEFINE_TRACEPOINT(point, TP_PROTO(int value), TP_ARGS(value));

static void probe(void *data, int value)
{
	(void)data;
	(void)value;
}

static int five(void)
{
	return 5;
}

__attribute__((__used__)) static int (*resolve(void))(void)
{
	early = jumplabel_enable(jumplabel_key(&key));
#ifndef QUIET /* In a static program, warnings call functions of libc that do not work yet: docs/safety.md. */
	registered = register_trace_point(probe, NULL);
	synchronized = tracepoint_synchronize_unregister();
#endif
	return five;
}

int chosen(void) __attribute__((__ifunc__("resolve")));

int main(void)
{
	CHECK(chosen() == 5 && early == -EINPROGRESS && !static_branch_unlikely(&key));
#ifndef QUIET
	CHECK(registered == -EINPROGRESS && synchronized == -EINPROGRESS);
#endif
	STEP(static_branch_enable(&key));
	CHECK(static_branch_unlikely(&key));
	STEP(CHECK(!register_trace_point(probe, NULL)));
	STEP(CHECK(!unregister_trace_point(probe, NULL) && !tracepoint_synchronize_unregister()));
	puts("ok");
	return 0;
}
