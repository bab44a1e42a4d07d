/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The function of Linux's document on static keys: `getppid` with an `if` around a `printk`. CHECKED is what <assert.h> beside it makes of
 * it: CONSTANT, SITE or RELAXED.
 */
/* The program's own, so that no table of addresses is between. */
extern int asserted_flag __attribute__((visibility("hidden")));

#include <assert.h>

struct task {
	const struct task *parent;
	unsigned long number;
};

unsigned long said(unsigned long number) __attribute__((cold));

unsigned long parent_of(const struct task *task)
{
	unsigned long number = task->parent->number;

	if (CHECKED)
		return said(number);
	return number;
}
