/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* <sys/sdt.h> for files that are compiled with -I.../include/jumplabel/sdt. It is <jumplabel/sdt.h>, or, if that file includes it, the system's. */
#pragma GCC system_header
#ifdef JUMPLABEL_SDT_SYSTEM_
#include_next <sys/sdt.h>
#else
#include "../../sdt.h"
#endif
