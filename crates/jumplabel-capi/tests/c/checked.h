/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks: the first one that fails prints its line and ends the program. `checks` counts all that were made. */
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
