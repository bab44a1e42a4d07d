/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The very first probe is registered while an emission begins: the tracepoint's key was turned on without a probe. The emission's thread is not
   counted, so nobody would wait for it. So it must not call the probe. */
#include "check.h"

#include <dlfcn.h>

DEFINE_TRACEPOINT(point, TP_PROTO(int value), TP_ARGS(value));

static int called;

static void probe(void *data, int value)
{
	(void)data;
	called += value;
}

/* Stands for the moment between the library's answer and its use, in which another thread registers the probe. */
struct jumplabel_inside_ jumplabel_trace_enter_(void)
{
	struct jumplabel_inside_ (*enter)(void);
	struct jumplabel_inside_ inside;

	*(void **)&enter = dlsym(RTLD_NEXT, "jumplabel_trace_enter_");
	inside = enter();
	if (!inside._word)
		STEP(register_trace_point(probe, NULL));
	return inside;
}

int main(void)
{
	STEP(static_branch_enable(&__tracepoint_point.key));
	trace_point(1);
	CHECK(called == 0);
	trace_point(10);
	CHECK(called == 10);
	STEP(unregister_trace_point(probe, NULL));
	STEP(tracepoint_synchronize_unregister());
	trace_point(100);
	CHECK(called == 10);
	puts("ok");
	return 0;
}
