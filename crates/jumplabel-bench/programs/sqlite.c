/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A load for sqlite, all of it in memory: a table is filled, an index is made, rows are looked up, joined, sorted, changed and deleted.
 *
 *     sqlite ROUNDS [on|again]  `on`: every assert() is executed; `again`: off, after it was on
 *
 * Prints a line: nanoseconds of all rounds, and what the queries found. Another way to check that finds something else is wrong.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sqlite3.h"

#if defined(SITE) || defined(LIKELY) || defined(BARE)
#include <jumplabel.h>
struct static_key_false asserted_key = STATIC_KEY_FALSE_INIT;
static void check_all(bool all)
{
	if (all)
		static_branch_enable(&asserted_key);
	else
		static_branch_disable(&asserted_key);
}
#else
int asserted_flag;
static void check_all(bool all)
{
	__atomic_store_n(&asserted_flag, all, __ATOMIC_RELAXED);
}
#endif

void asserted_failed(const char *file, int line)
{
	fprintf(stderr, "%s:%d: an assertion failed\n", file, line);
	abort();
}

static unsigned long long found;

static void run(sqlite3 *db, const char *sql, int from, int to)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		exit(2);
	}
	for (int at = from; at < to; at++) {
		char text[32];

		snprintf(text, sizeof(text), "row %d", (int)(at * 2654435761u % 10007));
		for (int parameter = 1; parameter <= sqlite3_bind_parameter_count(statement); parameter++) {
			if (parameter == 2)
				sqlite3_bind_text(statement, 2, text, -1, SQLITE_TRANSIENT);
			else
				sqlite3_bind_int(statement, parameter, at);
		}
		while (sqlite3_step(statement) == SQLITE_ROW)
			found = found * 31 + (unsigned long long)sqlite3_column_int64(statement, 0);
		if (sqlite3_reset(statement) != SQLITE_OK) {
			fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
			exit(2);
		}
	}
	sqlite3_finalize(statement);
}

static void once(void)
{
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		exit(2);
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, number INTEGER)", 0, 1);
	run(db, "BEGIN", 0, 1);
	run(db, "INSERT INTO t VALUES(?1, ?2, ?1 * 7919 % 10007)", 0, 2000);
	run(db, "CREATE INDEX by_name ON t(name)", 0, 1);
	run(db, "COMMIT", 0, 1);
	run(db, "SELECT number FROM t WHERE id = ?1", 0, 2000);
	run(db, "SELECT id + length(?2) FROM t WHERE name = ?2 AND id <> ?1", 0, 1000);
	run(db, "SELECT count(*) FROM t WHERE name LIKE '%7%' AND number > ?1 * 100", 0, 4);
	run(db, "SELECT a.number FROM t a JOIN t b ON b.id = a.number % 2000 ORDER BY a.name, b.number LIMIT 200", 0, 2);
	run(db, "SELECT sum(number) FROM t GROUP BY number % 17", 0, 2);
	run(db, "UPDATE t SET number = number + 1, name = ?2 WHERE id = ?1", 0, 500);
	run(db, "DELETE FROM t WHERE id % 3 = ?1", 0, 2);
	run(db, "SELECT count(*) + sum(number) FROM t", 0, 1);
	sqlite3_close(db);
}

int main(int count, char **words)
{
	int rounds = count > 1 ? atoi(words[1]) : 1;
	struct timespec before, after;

	if (count > 2) {
		check_all(true);
		check_all(!strcmp(words[2], "on"));
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	while (rounds-- > 0)
		once();
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("%lld %llu\n", (after.tv_sec - before.tv_sec) * 1000000000ll + (after.tv_nsec - before.tv_nsec), found);
	return 0;
}
