/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The objects of the program early.c that early_library.c changes before the program's constructors run. */
#ifndef EARLY_H
#define EARLY_H

#include <jumplabel.h>

#define EXPORTED __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

EXPORTED extern struct static_key_false early_key, early_counted;
EXPORTED extern struct static_key_true early_on;
EXPORTED extern struct static_key_false_or_load early_or_load;
EXPORTED extern struct static_key_true_deferred early_deferred;
/* A key without checks. */
EXPORTED extern struct static_key_false early_unchecked;
EXPORTED int early_one(int x);
EXPORTED int early_two(int x);
/* The state of all objects, one digit for each. */
EXPORTED long early_state(void);

/* A key of the library, which the library also checks. */
EXPORTED extern struct static_key_false library_key;

enum { EARLY_CALLS = 20 };
struct early {
	bool ran;
	int count, results[EARLY_CALLS];
	const char *names[EARLY_CALLS];
	/* The results of changes that must work. */
	int made, own, locked;
	bool own_follows;
	/* The results of early_state() before and after the library's changes. */
	long before, after;
};
EXPORTED extern struct early early;

#ifdef __cplusplus
}
#endif

DECLARE_STATIC_CALL(early_call, early_one);
DECLARE_STATIC_MODE(early_mode, 3, 0);
DECLARE_TRACE(early_trace, TP_PROTO(unsigned int x), TP_ARGS(x));

#endif
