/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loads and unloads leaving.c, whose name is the first argument; then ends, with the DLL loaded and beside threads that flip. Prints "ok". The exit
 * code is 0 if the DLL flips at the end of the process, too, and its checks follow.
 */
#include "check.h"
#include "modules.h"

#include <pthread.h>
#include <windows.h>

enum { DLLMAIN, ATEXIT, DESTRUCTOR, REPORTS };

static int reports, all_wrong;
static bool is_end;

static void report(int wrong)
{
	all_wrong += wrong;
	if (++reports == REPORTS && is_end)
		TerminateProcess(GetCurrentProcess(), all_wrong ? 4 : 0);
}

static HMODULE load(const char *path)
{
	HMODULE module = LoadLibraryA(path);
	void (*tell)(void (*)(int));
	FARPROC found;

	CHECK(module);
	found = GetProcAddress(module, "leaving_tell");
	CHECK(found);
	memcpy(&tell, &found, sizeof(found));
	tell(report);
	return module;
}

static DEFINE_STATIC_KEY_FALSE(other);
static int flips;

static void *flip(void *data)
{
	for (;;) {
		static_branch_enable(&other);
		static_branch_disable(&other);
		__atomic_fetch_add(&flips, 2, __ATOMIC_RELAXED);
	}
	return data;
}

static void count_site(const struct jumplabel_site *site, void *data)
{
	(void)site;
	++*(int *)data;
}

static int sites(void)
{
	int count = 0;

	jumplabel_for_each_site(jumplabel_key(&module_off), count_site, &count);
	return count;
}

int main(int count, char **arguments)
{
	int without = sites();
	pthread_t thread;

	CHECK(count == 2);
	jumplabel_set_warn(note_warning, NULL);
	for (int round = 0; round < 20; round++) {
		HMODULE module = load(arguments[1]);

		CHECK(sites() == without + 2);
		reports = 0;
		CHECK(FreeLibrary(module));
		CHECK(reports == REPORTS && all_wrong == 0);
		/* The DLL is not known any more. */
		CHECK(sites() == without);
		module_set(round % 2);
		CHECK(static_branch_unlikely(&module_off) == round % 2 && module_state() == (round % 2 ? 11 : 22));
	}
	CHECK(warnings == 0 && jumplabel_verify() == 0);
	load(arguments[1]);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&thread, NULL, flip, NULL) == 0);
	while (!__atomic_load_n(&flips, __ATOMIC_RELAXED))
		Sleep(1);
	printf("ok %d\n", checks);
	fflush(stdout);
	reports = 0;
	is_end = true;
	return 3;
}
