/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What tests/c/early.c, a program, has, and early_library.c changes before the program's constructors run. */
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
/* Nobody checks it. */
EXPORTED extern struct static_key_false early_unchecked;
EXPORTED int early_one(int x);
EXPORTED int early_two(int x);
/* A digit for each. */
EXPORTED long early_state(void);

/* In the library, which checks it, too. */
EXPORTED extern struct static_key_false library_key;

enum { EARLY_CALLS = 20 };
struct early {
	bool ran;
	int count, results[EARLY_CALLS];
	const char *names[EARLY_CALLS];
	/* What has to work. */
	int made, own, locked;
	bool own_follows;
	/* early_state() before and after. */
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
