/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Assertions that stay in the release build. While they are off, an assertion is one nop, and its condition is not evaluated.
 *
 *     #include <jumplabel/assert.h>
 *
 *     JUMPLABEL_ASSERTIONS();                              once in a file: its key, which is off, named assert:FILE
 *
 *     void take(struct queue *queue)
 *     {
 *         JUMPLABEL_ASSERT(queue->length > 0);
 *
 *     JUMPLABEL='assert:*=on' ./program                    all of them, by <jumplabel/agent.h>; or file:src/queue.c=on; an agent does it later
 *
 * All assertions of a file have one key, because a key for each would cost its name and record, some 100 bytes. An assertion is a nop and 16 bytes of
 * table, and its arm. For a group across files, or in a header, define a key, whose name begins with `assert:` for `assert:*`:
 *
 *     DEFINE_STATIC_KEY_FALSE(tree_checks);                in one file
 *     RECORD_STATIC_KEY(tree_checks, "assert:tree");
 *
 *     JUMPLABEL_ASSERT_IN(&tree_checks, is_balanced(tree));
 *
 * An assertion that fails calls the hook. Without a hook it says so on standard error and aborts, as assert() does. If the hook returns, the program
 * goes on behind the assertion.
 */
#ifndef JUMPLABEL_ASSERT_H
#define JUMPLABEL_ASSERT_H

#include "../jumplabel.h"

JUMPLABEL_C_BEGIN_

struct jumplabel_assertion {
	/* The condition as it is written. */
	const char *text;
	const char *file;
	const char *function;
	unsigned int line;
};

/* `_assertion` lives as long as the call; its texts live as long as the code with the assertion. It may flip keys, replace itself, longjmp away; no
   exception may leave it. */
typedef void (*jumplabel_assert_fn)(const struct jumplabel_assertion *_assertion, void *_data);

/* Sets the hook of the process; NULL: one line on standard error and abort(), which is the default. In a kernel, the default does nothing. */
void jumplabel_set_assert(jumplabel_assert_fn _hook, void *_data);

/* A hook that says it on standard error, and goes on: jumplabel_set_assert(jumplabel_assert_report, NULL). */
void jumplabel_assert_report(const struct jumplabel_assertion *_assertion, void *_data);

/* The library's. */
__attribute__((__cold__)) void jumplabel_assert_failed_(const char *_text, const char *_file, const char *_function, unsigned int _line);

JUMPLABEL_C_END_

/* Outside of functions, in front of the first assertion of the file. In C++, in one namespace or none. */
#define JUMPLABEL_ASSERTIONS()                                                                                         \
	__attribute__((__unused__)) static DEFINE_STATIC_KEY_FALSE(jumplabel_assertions);                              \
	RECORD_STATIC_KEY(jumplabel_assertions, "assert:" __FILE__)

/* Expressions without a value. The condition may contain commas. Safe where the condition and the hook are, signal handlers included. */
#define JUMPLABEL_ASSERT(...) JUMPLABEL_ASSERT_AT_(&jumplabel_assertions, #__VA_ARGS__, __VA_ARGS__)
/* `key` is the address of a key that has a type, as for static_branch_unlikely(). */
#define JUMPLABEL_ASSERT_IN(key, ...) JUMPLABEL_ASSERT_AT_(key, #__VA_ARGS__, __VA_ARGS__)

#define JUMPLABEL_ASSERT_AT_(key, text, ...)                                                                           \
	((static_branch_unlikely(key) && __builtin_expect(!(__VA_ARGS__), 0)) ?                                        \
		 jumplabel_assert_failed_(text, __FILE__, __func__, __LINE__) :                                        \
		 (void)0)

#endif
