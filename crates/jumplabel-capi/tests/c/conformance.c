/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The semantics of Linux's static keys, one assertion for each point: those of the kernel's own tests (rows, boot), and further ones (the rest).
 * Compiled as C and as C++; tests/capi/conformance.rs has the configurations. Prints "ok" at the end.
 */
#define JUMPLABEL_ALLOW_DEPRECATED
#include "base.h"
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <time.h>

#include "conformance/kernel.h"
#include "conformance/counts.h"
#include "conformance/definitions.h"
#include "conformance/deferred.h"
#include "conformance/lock.h"
#include "conformance/load.h"
#include "conformance/naked.h"
#include "conformance/races.h"
#include "conformance/calls.h"
#include "conformance/or_load.h"
#include "conformance/tracepoints.h"
#include "conformance/results.h"

#ifdef BREAK_A_BYTE
#ifdef _WIN32
/* Declared here, because <windows.h> has names that this test uses, too. */
__attribute__((__dllimport__)) int VirtualProtect(void *address, size_t bytes, unsigned long protection, unsigned long *before);
#else
#include <sys/mman.h>
#endif

/* Overwrites the end of the first site with a two-byte nop. */
static void break_a_byte(void)
{
	unsigned char *site = (unsigned char *)jump_entry_code(&jump_table_start[0]);

#ifdef _WIN32
	unsigned long before;
	CHECK(VirtualProtect(site, 5, 0x40 /* PAGE_EXECUTE_READWRITE */, &before));
#else
	CHECK(mprotect((void *)((uintptr_t)site & -4096ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
#endif
	site[3] = 0x66;
	site[4] = 0x90;
}
#endif

#ifdef __cplusplus
extern "C"
#endif
int conformance(void);

int conformance(void)
{
	jumplabel_set_warn(note_warning, NULL);
	CHECK(static_key_initialized);
	STEP(jump_label_init());
	STATIC_KEY_CHECK_USE(&old_true_key);

	rows();
	arch();
#ifdef BREAK_A_BYTE
	break_a_byte();
#endif
	boot();
	counts();
	misuse();
	definitions();
	traps();
	or_load();
	deferrals();
	locked();
	reserved();
	many_sites();
	threads();
	naked();
	calls();
	tracepoints();
	results();
	sealed();

	printf("ok %d\n", checks);
	return 0;
}
