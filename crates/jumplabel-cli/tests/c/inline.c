/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records as several files of C++ leave them that see one `inline` key, and the records of two `static` keys of one name. */
#include <jumplabel.h>

DEFINE_STATIC_KEY_FALSE(trace);
static DEFINE_STATIC_KEY_FALSE(one);
static DEFINE_STATIC_KEY_FALSE(other);
/* clang-format off */
RECORD_STATIC_KEY(trace, "net.trace"); RECORD_STATIC_KEY(trace, "net.trace"); RECORD_STATIC_KEY(one, "own"); RECORD_STATIC_KEY(other, "own");
/* clang-format on */
RECORD_STATIC_KEY(trace, "another.name");

int main(void)
{
	return static_branch_unlikely(&trace) + static_branch_unlikely(&one) + static_branch_unlikely(&other);
}
