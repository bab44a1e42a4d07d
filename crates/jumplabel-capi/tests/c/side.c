/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A C library for a Rust program (test-crates/mixed/program). */
#include "objects.h"

DEFINE_STATIC_KEY_FALSE(side_off);
DEFINE_STATIC_KEY_TRUE(side_on);
int c_state(void);
bool c_flip(struct static_key *starts_off, struct static_key *starts_on, bool flipped);

int c_state(void)
{
	return STATE(side_off, side_on);
}

bool c_flip(struct static_key *starts_off, struct static_key *starts_on, bool flipped)
{
	struct jumplabel_change changes[] = { { starts_off, flipped }, { starts_on, !flipped } };

	return jumplabel_set_all(changes, 2) == 0;
}
