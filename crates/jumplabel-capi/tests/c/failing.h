/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the two files of tests/c/failing.c share: a point in a function of both. */
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
/* One function, however many files have it. */
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
