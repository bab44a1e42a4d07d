/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library's constructor (early_library.c) changes objects of this program before the program's own constructors have run. These changes are
 * refused, and change nothing. Afterwards all changes work. */
#include "early.h"

#include <errno.h>

#include "checked.h"

DEFINE_STATIC_KEY_FALSE(early_key);
DEFINE_STATIC_KEY_FALSE(early_counted);
DEFINE_STATIC_KEY_TRUE(early_on);
DEFINE_STATIC_KEY_FALSE_OR_LOAD(early_or_load);
DEFINE_STATIC_KEY_DEFERRED_TRUE(early_deferred, 1000000);
DEFINE_STATIC_MODE(early_mode, 3, 0);
DEFINE_TRACE(early_trace, TP_PROTO(unsigned int x), TP_ARGS(x));
EXPORT_TRACEPOINT_SYMBOL(early_trace);
struct early early;

int early_one(int x)
{
	return x + 1;
}

int early_two(int x)
{
	return x + 2;
}

DEFINE_STATIC_CALL(early_call, early_one);
EXPORT_STATIC_CALL(early_call);

/* The state of all objects, one digit for each, after a leading 1. */
long early_state(void)
{
	long digits = 1;

	trace_early_trace(0);
	digits = digits * 10 + static_branch_unlikely(&early_key);
	digits = digits * 10 + static_branch_unlikely(&early_counted);
	digits = digits * 10 + static_branch_likely(&early_on);
	digits = digits * 10 + static_branch_unlikely(&early_or_load);
	digits = digits * 10 + static_branch_likely(&early_deferred.key);
	digits = digits * 10 + static_switch(early_mode, 3);
	digits = digits * 10 + static_call(early_call)(0);
	return digits * 10 + trace_early_trace_enabled();
}

/* In the program's own constructors, changes work. */
static int in_constructor = 1;

__attribute__((constructor)) static void constructor(void)
{
	in_constructor = jumplabel_enable(jumplabel_key(&early_counted));
	if (!in_constructor)
		in_constructor = jumplabel_disable(jumplabel_key(&early_counted));
}

int main(void)
{
	CHECK(early.ran && early.count > 10 && early.before == 100101010);
	for (int i = 0; i < early.count; i++) {
		if (early.results[i] != -EINPROGRESS)
			fprintf(stderr, "%s: %d\n", early.names[i], early.results[i]);
		CHECK(early.results[i] == -EINPROGRESS);
	}
	CHECK(early.after == early.before && early_state() == early.before);
	CHECK(!early.made && !early.own && early.own_follows && !in_constructor);
	CHECK(static_branch_unlikely(&library_key));
	static_branch_enable(&early_key);
	static_branch_inc(&early_counted);
	static_branch_disable(&early_on);
	static_branch_enable(&early_or_load);
	CHECK(!static_mode_set(early_mode, 2) && !static_call_update(early_call, early_two));
	CHECK(early_state() == 111011220);
	puts("ok");
	return 0;
}
