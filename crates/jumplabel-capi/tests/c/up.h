/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the tests of UP mode share: the lock prefixes of the object that this is compiled into. */
#ifndef UP_H
#define UP_H

#include <jumplabel.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const struct jump_entry __start___jump_table[] __attribute__((visibility("hidden")));
extern const struct jump_entry __stop___jump_table[] __attribute__((visibility("hidden")));

/* The byte that all of them have; 0 if they differ, or if there is none. */
static inline int prefixes(void)
{
	int all = -1;

	for (const struct jump_entry *entry = __start___jump_table; entry < __stop___jump_table; entry++) {
		if ((entry->meta >> 2 & 15) != 6)
			continue;
		int byte = *(const unsigned char *)jump_entry_code(entry);
		all = all < 0 || all == byte ? byte : 0;
	}
	return all < 0 ? 0 : all;
}

enum { ALONE = 0x3e, LOCKED = 0xf0 };

/* A library that knows nothing of jumplabel: runs `body` in so many threads. */
int run_threads(int threads, void *(*body)(void *), void *argument);

#ifdef __cplusplus
}
#endif
#endif
