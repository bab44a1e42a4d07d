/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Assertions that stay in the release build. Without an argument, tests what a program sees of them, and prints "ok". `abort`: one fails without a
 * hook. `report`: one fails, and is reported. `start`: one fails if the start variable has turned on the file's assertions.
 */
#include <string.h>

#include <jumplabel/agent.h>
#include <jumplabel/assert.h>

#include "checked.h"

JUMPLABEL_STARTUP();
JUMPLABEL_ASSERTIONS();
static DEFINE_STATIC_KEY_FALSE(tree);
RECORD_STATIC_KEY(tree, "assert:tree");

#define LIMIT 7

struct failures {
	int count;
	struct jumplabel_assertion last;
};

static void note(const struct jumplabel_assertion *assertion, void *data)
{
	struct failures *failures = (struct failures *)data;

	failures->count++;
	failures->last = *assertion;
}

/* The test disassembles these two functions, which differ only in the assertion. They call another function,
   so that both have a frame. */
extern int queue_length;
int queue_length;
int take(void);
__attribute__((noinline)) int take(void)
{
	fflush(stdout);
	JUMPLABEL_ASSERT(queue_length > 0);
	return queue_length * 3;
}
int bare(void);
__attribute__((noinline)) int bare(void)
{
	fflush(stdout);
	return queue_length * 3;
}

static int take_of(int length)
{
	queue_length = length;
	return take();
}

static int evaluated;
static int sum(int x, int y)
{
	evaluated++;
	return x + y;
}

/* Assertions as the only statement of an `if`, in an expression, and with commas and macros in the condition. */
static int walk(int x, const char *text)
{
	if (x)
		JUMPLABEL_ASSERT_IN(&tree, sum(x, 1) < LIMIT);
	else
		JUMPLABEL_ASSERT_IN(&tree, text && !strcmp(text, "a, b"));
	return JUMPLABEL_ASSERT_IN(&tree, text), x;
}

static int named;
static void see(const struct jumplabel_key_info *info, void *data)
{
	char name[512];

	(void)data;
	snprintf(name, sizeof(name), "%.*s", (int)info->name_length, info->name);
	if (info->key == &jumplabel_assertions.key)
		named += !strcmp(name, "assert:" __FILE__);
	if (info->key == &tree.key)
		named += !strcmp(name, "assert:tree");
}

static bool is(const struct jumplabel_assertion *last, const char *text, const char *function)
{
	return !strcmp(last->text, text) && !strcmp(last->file, __FILE__) && !strcmp(last->function, function) && last->line > 0;
}

static void all(void)
{
	struct failures failures = { 0, { NULL, NULL, NULL, 0 } };

	CHECK(jumplabel_for_each_key(see, NULL) >= 2 && named == 2);
	jumplabel_set_assert(note, &failures);

	/* Assertions that are off do not evaluate their conditions. */
	CHECK(take_of(0) == 0 && walk(9, NULL) == 9 && walk(0, NULL) == 0);
	CHECK(failures.count == 0 && evaluated == 0);

	/* One group is on. The file's assertions stay off. */
	static_branch_enable(&tree);
	CHECK(take_of(0) == 0 && failures.count == 0);
	CHECK(walk(1, "") == 1 && failures.count == 0 && evaluated == 1);
	CHECK(walk(6, "") == 6 && failures.count == 1 && evaluated == 2);
	CHECK(is(&failures.last, "sum(x, 1) < LIMIT", "walk"));
	CHECK(walk(0, "a, b") == 0 && failures.count == 1);
	CHECK(walk(0, "b") == 0 && failures.count == 2 && is(&failures.last, "text && !strcmp(text, \"a, b\")", "walk"));
	CHECK(walk(0, NULL) == 0 && failures.count == 4 && is(&failures.last, "text", "walk"));

	/* The file's assertions are on. */
	static_branch_disable(&tree);
	static_branch_enable(&jumplabel_assertions);
	CHECK(walk(6, NULL) == 6 && failures.count == 4 && evaluated == 2);
	CHECK(take_of(1) == bare() && failures.count == 4);
	CHECK(take_of(0) == 0 && failures.count == 5 && is(&failures.last, "queue_length > 0", "take"));
	static_branch_disable(&jumplabel_assertions);
	CHECK(take_of(0) == 0 && failures.count == 5);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (!strcmp(word, "abort") || !strcmp(word, "report")) {
		jumplabel_set_assert(!strcmp(word, "abort") ? NULL : jumplabel_assert_report, NULL);
		static_branch_enable(&jumplabel_assertions);
		take_of(0);
		printf("goes on\n");
	} else if (!strcmp(word, "start")) {
		jumplabel_set_assert(jumplabel_assert_report, NULL);
		take_of(0);
		static_branch_enable(&tree);
	} else {
		all();
		printf("ok\n");
	}
	return 0;
}
