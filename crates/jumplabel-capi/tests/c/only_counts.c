/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A broken twin: with -Dstatic_key_enable=only_counts, a key's count changes, but not the code. */
#include <jumplabel.h>

void only_counts(struct static_key *key)
{
	key->_enabled = 1;
}
