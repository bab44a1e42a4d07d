/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A broken twin: with -Dstatic_key_enable=only_counts, keys are switched on, and code stays as it is. */
#include <jumplabel.h>

void only_counts(struct static_key *key)
{
	key->_enabled = 1;
}
