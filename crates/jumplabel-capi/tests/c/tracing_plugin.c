/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Adds a probe to a tracepoint of the program that has loaded this plugin. */
#include "tracing.h"
#include "check.h"

void look_on(bool on, unsigned int expected);

static void note(void *data, unsigned int x)
{
	struct noted *noted = (struct noted *)data;

	CHECK(noted->magic == ALIVE);
	noted->count += x;
}

void look_on(bool on, unsigned int expected)
{
	static struct noted noted = { ALIVE, 0 };

	CHECK((on ? register_trace_step(note, &noted) : unregister_trace_step(note, &noted)) == 0);
	CHECK(jumplabel_trace_synchronize(step) == 0 && trace_step_enabled() == on);
	trace_step(5);
	CHECK(noted.count == (on ? 5 : 5 + expected));
}
