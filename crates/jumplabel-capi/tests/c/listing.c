/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is listed of static calls and modes. Prints "ok" at the end. */
#include "check.h"

static int one(int x)
{
	return x + 1;
}

static int two(int x)
{
	return x + 2;
}

enum { LINE = __LINE__ + 1 };
DEFINE_STATIC_CALL(hook, one);
DEFINE_STATIC_MODE(policy, 3, 1);

static int arm(void)
{
	switch (static_switch(policy, 3)) {
	case 0:
		return 10;
	case 1:
		return 11;
	default:
		return 12;
	}
}

static bool is(const char *text, size_t length, const char *expected)
{
	return length == strlen(expected) && !memcmp(text, expected, length);
}

static int calls, modes, keys;
static jumplabel_function_ target;
static int number;

static void see_call(const struct jumplabel_call_info *info, void *data)
{
	if (!is(info->path, info->path_length, "hook"))
		return;
	CHECK(data == &calls && is(info->file, info->file_length, __FILE__) && info->module_length == 0);
	CHECK(info->call == &STATIC_CALL_KEY(hook) && info->line == LINE && info->column == 1 && info->sites == 1);
	CHECK(info->target == target);
	calls++;
}

/* It may set the mode. */
static void see_mode(const struct jumplabel_mode_info *info, void *data)
{
	if (!is(info->path, info->path_length, "policy"))
		return;
	CHECK(data == &modes && is(info->file, info->file_length, __FILE__) && info->module_length == 0);
	CHECK(info->mode == &policy && info->line == LINE + 1 && info->column == 1 && info->sites >= 1);
	CHECK(info->number == number && info->arms == 3);
	number = (number + 1) % 3;
	CHECK(jumplabel_static_mode_set(info->mode, number) == 0);
	modes++;
}

static void see_key(const struct jumplabel_key_info *info, void *data)
{
	(void)data;
	keys += is(info->path, info->path_length, "policy") || is(info->path, info->path_length, "hook");
}

int main(void)
{
	number = arm() - 10;
	CHECK(number == 1 && static_call(hook)(0) == 1);
	for (int i = 0; i < 6; i++) {
		CHECK(jumplabel_for_each_call(see_call, &calls) >= calls - i && jumplabel_for_each_call(NULL, NULL) >= 0);
		CHECK(jumplabel_for_each_mode(see_mode, &modes) >= modes - i && jumplabel_for_each_mode(NULL, NULL) >= 0);
#ifndef JUMPLABEL_FALLBACK
		CHECK(calls == i + 1 && modes == i + 1 && arm() == 10 + number);
#endif
		target = i % 2 ? JUMPLABEL_CAST_(jumplabel_function_, one) : JUMPLABEL_CAST_(jumplabel_function_, two);
		CHECK(static_call_update(hook, i % 2 ? one : two) == 0);
		if (i % 2)
			target = NULL;
	}
	CHECK(jumplabel_for_each_key(see_key, NULL) >= 0 && keys == 0);
	printf("ok %d %d\n", calls, modes);
	return 0;
}
