/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "several.h"

int other()
{
	return 16 * inlined() + state<int>();
}
