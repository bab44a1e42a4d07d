/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shared by the tests of UP mode: the lock prefixes of the object that includes this. */
#ifndef UP_H
#define UP_H

#include <jumplabel.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const struct jump_entry __start___jump_table[] __attribute__((visibility("hidden")));
extern const struct jump_entry __stop___jump_table[] __attribute__((visibility("hidden")));

/* The byte that all of them hold; 0 if they differ, or if there are none. */
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

/* In a library that does not know jumplabel: runs `body` in this many threads. */
int run_threads(int threads, void *(*body)(void *), void *argument);

#ifdef __cplusplus
}
#endif
#endif
