/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* <sys/sdt.h> for what is compiled with -I.../include/jumplabel/sdt: <jumplabel/sdt.h>; or, if that asks for it, the system's. */
#pragma GCC system_header
#ifdef JUMPLABEL_SDT_SYSTEM_
#include_next <sys/sdt.h>
#else
#include "../../sdt.h"
#endif
