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
 *     JUMPLABEL='assert:*=on' ./program                    turns all on, with <jumplabel/agent.h>; file:src/queue.c=on those of a file
 *
 * All assertions of a file have one key, because the name and the record of a key cost some 100 bytes. An assertion costs a nop, 16 bytes of table,
 * and its arm. For a group across files, or in a header, define a key; `assert:*` includes it if its name begins with `assert:`.
 *
 *     DEFINE_STATIC_KEY_FALSE(tree_checks);                in one file
 *     RECORD_STATIC_KEY(tree_checks, "assert:tree");
 *
 *     JUMPLABEL_ASSERT_IN(&tree_checks, is_balanced(tree));
 *
 * A failed assertion calls the hook. If the hook returns, the program goes on after the assertion. Without a hook, the assertion is printed on
 * standard error, and the program aborts, as with assert().
 */
#ifndef JUMPLABEL_ASSERT_H
#define JUMPLABEL_ASSERT_H

#include "../jumplabel.h"

JUMPLABEL_C_BEGIN_

struct jumplabel_assertion {
	/* The text of the condition. */
	const char *text;
	const char *file;
	const char *function;
	unsigned int line;
};

/* A hook. `_assertion` lives as long as the call; the texts in it live as long as the code with the assertion. The hook may flip keys, replace
   itself, and leave by longjmp(), but not by an exception. */
typedef void (*jumplabel_assert_fn)(const struct jumplabel_assertion *_assertion, void *_data);

/* Sets the hook of the process. NULL, the default: one line on standard error, and abort(); in a kernel, nothing. */
void jumplabel_set_assert(jumplabel_assert_fn _hook, void *_data);

/* A hook that prints the assertion on standard error, and returns: jumplabel_set_assert(jumplabel_assert_report, NULL). */
void jumplabel_assert_report(const struct jumplabel_assertion *_assertion, void *_data);

/* Internal: JUMPLABEL_ASSERT() calls it. */
__attribute__((__cold__)) void jumplabel_assert_failed_(const char *_text, const char *_file, const char *_function, unsigned int _line);

JUMPLABEL_C_END_

/* Defines the file's key. Use it outside of functions, before the first assertion of the file; in C++, also in a namespace. */
#define JUMPLABEL_ASSERTIONS()                                                                                         \
	__attribute__((__unused__)) static DEFINE_STATIC_KEY_FALSE(jumplabel_assertions);                              \
	RECORD_STATIC_KEY(jumplabel_assertions, "assert:" __FILE__)

/* An expression without a value. The condition may contain commas. Can be used wherever the condition and the hook may run, also in signal
   handlers. */
#define JUMPLABEL_ASSERT(...) JUMPLABEL_ASSERT_AT_(&jumplabel_assertions, #__VA_ARGS__, __VA_ARGS__)
/* The same, with the address of a typed key, as for static_branch_unlikely(). */
#define JUMPLABEL_ASSERT_IN(key, ...) JUMPLABEL_ASSERT_AT_(key, #__VA_ARGS__, __VA_ARGS__)

#define JUMPLABEL_ASSERT_AT_(key, text, ...)                                                                           \
	((static_branch_unlikely(key) && __builtin_expect(!(__VA_ARGS__), 0)) ?                                        \
		 jumplabel_assert_failed_(text, __FILE__, __func__, __LINE__) :                                        \
		 (void)0)

#endif
