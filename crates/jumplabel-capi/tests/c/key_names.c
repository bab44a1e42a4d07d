/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elements of arrays with names, with the library and with jumplabel-optional.h alone. Lists them in one line, and finds some, also in tables. */
#ifdef OPTIONAL
#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "jumplabel-optional.h"
#include "key_names.h"
JUMPLABEL_STARTUP();
#else
#include <jumplabel/key_names.h>
#include <jumplabel/agent.h>
JUMPLABEL_STARTUP();
#endif

#include <stdio.h>
#include <string.h>

enum level { LL_DEBUG, LL_VERBOSE, LL_NOTICE, LEVEL_COUNT };
#define LEVELS(X) X(LL_DEBUG) X(LL_VERBOSE) X(LL_NOTICE)
#define LEVEL(level) , level
static DEFINE_STATIC_KEY_ARRAY_FALSE(hot, 3);
RECORD_STATIC_KEY_ELEMENTS(hot, "hot" LEVELS(LEVEL));

/* Numbers, as in a program whose levels are macros. */
#define LOW 0
#define HIGH 1
DEFINE_STATIC_KEY_ARRAY_TRUE(layers, 2);
RECORD_STATIC_KEY_STRINGS(layers, "net.layers", "LOW", "HIGH");
static DEFINE_STATIC_KEY_ARRAY_FALSE(some, 4);
RECORD_STATIC_KEY_ELEMENTS(some, "some", HIGH, 3);
static DEFINE_STATIC_KEY_ARRAY_FALSE(many, 32);
RECORD_STATIC_KEY_STRINGS(many, "many", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19",
			  "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "last");
static DEFINE_STATIC_KEY_FALSE(trace);
RECORD_STATIC_KEY(trace, "net.trace");

JUMPLABEL_KEYS(table, hot[LL_DEBUG], hot[LL_NOTICE], trace);
static const struct jumplabel_named_key by_hand[] = { { "debug", &hot[LL_DEBUG].key }, { 0, 0 } };

static void show(const struct jumplabel_key_info *info, void *data)
{
	(void)data;
	if (info->name_length > 4 && !memcmp(info->name, "many", 4) && info->key != &many[31].key)
		return;
	printf("%.*s/%.*s=%d%s ", (int)info->name_length, info->name, (int)info->path_length, info->path, static_key_enabled(info->key),
	       info->element == -1 ? "" : "!");
}

int main(void)
{
	JUMPLABEL_KEYS(inner, layers[HIGH]);
	struct static_key *key = jumplabel_keys_find(table, "hot[LL_NOTICE]");

	if (key != &hot[LL_NOTICE].key || jumplabel_keys_find(table, "trace") != &trace.key || jumplabel_keys_find(table, "hot[LL_VERBOSE]"))
		return 1;
	if (jumplabel_keys_find(by_hand, "debug") != &hot[0].key || jumplabel_keys_find(by_hand, "debu") || jumplabel_keys_find(table, ""))
		return 2;
	if (jumplabel_keys_find(inner, "layers[1]") != &layers[1].key)
		return 3;
#ifdef OPTIONAL
	if (jumplabel_optional_find_key("hot[LL_NOTICE]") != key || jumplabel_optional_find_key("hot[2]"))
		return 4;
#endif
	if (jumplabel_enable(key) || !static_branch_unlikely(&hot[LL_NOTICE]))
		return 5;
	printf("%ld ", jumplabel_for_each_key(show, 0));
	puts(static_branch_unlikely(&hot[LL_DEBUG]) ? "debug" : "");
	return 0;
}
