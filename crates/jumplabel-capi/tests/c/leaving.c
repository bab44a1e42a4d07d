/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A DLL that flips while it is unloaded, in DllMain and in two destructors: a key of its own, and a key of modules_keys.c. Each time, its checks must
 * follow, and the program (leaving_host.c) hears how many did not.
 */
#include "modules.h"

#include <windows.h>

static DEFINE_STATIC_KEY_FALSE(own);
static void (*report)(int wrong);

/* The number of calls and checks that are wrong. */
__attribute__((__noinline__)) static int flip(struct static_key *key, bool on, bool is_own)
{
	int wrong = (on ? jumplabel_enable(key) : jumplabel_disable(key)) != 0;

	wrong += static_key_enabled(key) != on;
	wrong += is_own ? static_branch_unlikely(&own) != on : static_branch_unlikely(&module_off) != on;
	return wrong + (is_own ? static_branch_likely(&own) != on : static_branch_likely(&module_off) != on);
}

static void flips(void)
{
	int wrong = 0;

	for (int round = 0; round < 4; round++)
		wrong += flip(&own.key, round % 2, true) + flip(jumplabel_key(&module_off), round % 2, false);
	wrong += flip(&own.key, false, true) + flip(jumplabel_key(&module_off), false, false);
	if (report)
		report(wrong);
}

__attribute__((__dllexport__)) void leaving_tell(void (*function)(int wrong))
{
	report = function;
}

static void at_exit(void)
{
	flips();
}

__attribute__((__constructor__)) static void begin(void)
{
	flips();
	atexit(at_exit);
}

__attribute__((__destructor__)) static void end(void)
{
	flips();
}

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, LPVOID reserved)
{
	(void)module, (void)reserved;
	if (reason == DLL_PROCESS_DETACH)
		flips();
	return TRUE;
}
