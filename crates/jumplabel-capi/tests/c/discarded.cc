/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sites in functions that several files have (inline, templates), of which the linker keeps one copy; and exceptions through functions with sites.
 * Prints the number of table entries, and the number of those whose site exists.
 */
#include "check.h"
#include "discarded.h"

static int ended;

/* Counts its destruction. */
struct witness {
	~witness()
	{
		ended++;
	}
};

__attribute__((__noinline__)) static int deeper(int number)
{
	witness here;

	if (static_branch_likely(&shared_on) && static_branch_unlikely(&shared))
		throw number;
	return 0;
}

int thrower(int number)
{
	witness here;

	if (number < 0)
		return -number;
	if (static_branch_unlikely(&shared_loads) || static_switch(way, 3) == 1)
		return deeper(number + 1);
	return deeper(number);
}

static void count_site(const jumplabel_site *, void *data)
{
	++*(int *)data;
}

/* The number of the key's sites. */
static int sites_of(struct static_key *key)
{
	int count = 0;

	CHECK(jumplabel_for_each_site(key, count_site, &count) == count);
	return count;
}

static int caught(int (*check)(int), int number)
{
	int result = -1;

	ended = 0;
	try {
		witness here;
		result = check(number);
	} catch (int what) {
		CHECK(ended == 3);
		return what;
	}
	CHECK(ended >= 1);
	return result;
}

int main()
{
	int live = 0;

	jumplabel_set_warn(note_warning, nullptr);
	CHECK(in_line(1) == 10 && other_in_line(1) == 10 && !of<short>::check() && !other_of_short() && !other_of_double());
	CHECK(caught(in_line, 5) == 10);
	for (int round = 0; round < 3; round++) {
		static_branch_enable(&shared);
		CHECK(caught(in_line, 5) == 5 && caught(other_in_line, 6) == 6);
		CHECK(in_line(-7) == 17 && other_in_line(-7) == 17);
		static_branch_enable(&shared_loads);
		CHECK(caught(in_line, 5) == 6 && in_line(-7) == 117 && other_in_line(-7) == 117);
		static_branch_disable(&shared_loads);
		CHECK(static_mode_set(way, 1) == 0);
		CHECK(caught(in_line, 5) == 6 && in_line(-7) == 1017 && other_in_line(-7) == 1017);
		CHECK(static_mode_set(way, 0) == 0);
		static_branch_disable(&shared_on);
		CHECK(caught(in_line, 5) == 0 && other_in_line(-7) == 7);
		static_branch_enable(&shared_on);
		static_branch_disable(&shared);
		CHECK(in_line(1) == 10 && other_in_line(1) == 10);
		static_branch_enable(&of<short>::key);
		CHECK(of<short>::check() == 2 && other_of_short() == 2 && !other_of_double());
		static_branch_disable(&of<short>::key);
		CHECK(!of<short>::check() && !other_of_short());
		CHECK(jumplabel_verify() == 0 && warnings == 0);
	}
	CHECK(sites_of(&of<short>::key.key) == 1 && sites_of(&of<double>::key.key) == 1);
	for (size_t i = 0; i < site_count(); i++)
		live += jump_table_start[i].code < 0;
	printf("ok %zu %d\n", site_count(), live);
	return 0;
}
