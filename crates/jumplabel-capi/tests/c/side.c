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
	struct jumplabel_batch batch;

	jumplabel_batch_init(&batch);
	jumplabel_batch_set(&batch, starts_off, flipped);
	jumplabel_batch_set(&batch, starts_on, !flipped);
	return jumplabel_batch_commit(&batch) == 0;
}
