/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the two files of tests/c/failing.c: a point in a function that both have. */
#ifndef FAILING_H
#define FAILING_H

#include <jumplabel/fail.h>
#include <stdlib.h>

#ifdef JUMPLABEL_FALLBACK
#define IS_FALLBACK 1
#else
#define IS_FALLBACK 0
#endif

struct found {
	const char *name;
	int keys, on, sites;
};

#ifdef __cplusplus
/* In C++, there is one such function, however many files have it. */
#define SHARED_KEYS 1
inline int shared(int otherwise)
#else
#define SHARED_KEYS 2
static inline int shared(int otherwise)
#endif
{
	JUMPLABEL_FAIL_POINT("shared", text, return atoi(text));
	return otherwise;
}

int shared_elsewhere(void);

#endif
