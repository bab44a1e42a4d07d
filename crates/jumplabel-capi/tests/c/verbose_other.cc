// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbose.h"

VLOG_FILE();

void other()
{
	VLOG(2) << "other";
	VLOG(3) << "too much";
}
