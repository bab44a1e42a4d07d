/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks that print the line that failed, and count how many there were. */
#ifndef CHECKED_H
#define CHECKED_H

#include <stdio.h>
#include <stdlib.h>

static int checks;

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		__atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);                                                       \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
