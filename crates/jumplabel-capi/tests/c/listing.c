/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of static calls, modes and keys. Prints "ok" at the end. */
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

static struct config {
	int number;
	struct static_key_true verify;
} config = { 1, JUMPLABEL_TRUE_INIT_ };
static DEFINE_STATIC_KEY_FALSE(trace);
static DEFINE_STATIC_KEY_ARRAY_FALSE(hooks, 3);
DEFINE_STATIC_KEY_FALSE_OR_LOAD(seldom);
DEFINE_STATIC_NAKED_KEY_TRUE(route);
RECORD_STATIC_KEY(trace, "net.trace");
RECORD_STATIC_KEY(config.verify, "");
RECORD_STATIC_KEY_ARRAY(hooks, "net.hooks");
RECORD_STATIC_KEY(seldom, "");

static int keys_on(void)
{
	int on = static_branch_unlikely(&trace) + static_branch_likely(&config.verify) + static_naked_key(route);

	return on + static_branch_unlikely(&hooks[0]) + static_branch_unlikely(&hooks[2]) + static_branch_unlikely(&seldom);
}

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

/* Also sets the mode, which is allowed here. */
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

static const struct recorded {
	const char *name, *path;
	struct static_key *key;
	int element, sites;
} recorded[] = {
	{ "net.trace", "trace", &trace.key, -1, 1 },	      { "config.verify", "config.verify", &config.verify.key, -1, 1 },
	{ "net.hooks", "hooks", &hooks[0].key, 0, 1 },	      { "net.hooks", "hooks", &hooks[1].key, 1, 0 },
	{ "net.hooks", "hooks", &hooks[2].key, 2, 1 },	      { "seldom", "seldom", &seldom.key, -1, 1 },
	{ "route", "route", &route.key, -1, 1 },
};
static int listed;

/* Flips each key. */
static void see_recorded(const struct jumplabel_key_info *info, void *data)
{
	(void)data;
	for (unsigned int i = 0; i < sizeof(recorded) / sizeof(*recorded); i++) {
		const struct recorded *one = &recorded[i];

		if (info->key != one->key)
			continue;
		CHECK(is(info->name, info->name_length, one->name) && is(info->path, info->path_length, one->path));
		CHECK(is(info->file, info->file_length, __FILE__) && info->module_length == 0 && info->line > LINE);
		/* A function that is inlined twice has two sites. */
#ifdef JUMPLABEL_FALLBACK
		CHECK(info->element == one->element && info->sites == 0);
#else
		CHECK(info->element == one->element && (int)info->sites >= one->sites);
#endif
		CHECK((static_key_enabled(info->key) ? jumplabel_disable : jumplabel_enable)(info->key) == 0);
		listed++;
	}
}

int main(void)
{
	CHECK(keys_on() == 2);
	CHECK(jumplabel_for_each_key(see_recorded, NULL) >= listed);
#ifdef JUMPLABEL_FALLBACK
	CHECK(keys_on() == 5); /* all but the naked key */
#else
	CHECK(keys_on() == 4);
#endif
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
	printf("ok %d %d %d\n", calls, modes, listed);
	return 0;
}
