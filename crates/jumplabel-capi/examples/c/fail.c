/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A store that keeps a number in a file, and what becomes of it when the disk fails:
 *
 *     cc fail.c $(pkg-config --cflags --libs jumplabel-fail) -o fail
 *     ./fail                                                          saved 3 of 3
 *     FAILPOINTS='store.write=1*off->return(disk full)' ./fail        saved 1 of 3: the others are refused, and the file stays whole
 *     FAILPOINTS='store.rename=sleep(1000)' ./fail                    a slow disk
 */
#include <jumplabel/fail.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes a new file, and gives it the name of the old one: 0 or an error. */
static int save(const char *path, int number)
{
	char new_path[256];
	FILE *file;
	int error = 0;

	JUMPLABEL_FAIL_POINT("store.open", text, return -EACCES);
	snprintf(new_path, sizeof(new_path), "%s.new", path);
	file = fopen(new_path, "w");
	if (!file)
		return -errno;
	JUMPLABEL_FAIL_POINT("store.write", why, {
		fprintf(stderr, "injected: %s\n", why ? why : "no reason");
		error = -ENOSPC;
		goto out;
	});
	if (fprintf(file, "%d\n", number) < 0)
		error = -EIO;
out:
	if (fclose(file) && !error)
		error = -EIO;
	JUMPLABEL_FAIL_POINT("store.rename");
	if (!error && rename(new_path, path))
		error = -errno;
	if (error)
		remove(new_path);
	return error;
}

/* What is saved; 0 if nothing is, -1 if it is damaged. */
static int load(const char *path)
{
	int number = 0;
	FILE *file = fopen(path, "r");

	if (file) {
		if (fscanf(file, "%d", &number) != 1)
			number = -1;
		fclose(file);
	}
	return number;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "fail.store";
	int number, saved = 0;

	if (jumplabel_fail_setup()) {
		fprintf(stderr, "FAILPOINTS: %s\n", jumplabel_fail_error());
		return 2;
	}
	for (number = 1; number <= 3; number++) {
		int error = save(path, number);

		if (!error)
			saved = number;
		if (load(path) != saved) {
			fprintf(stderr, "%s is damaged\n", path);
			return 1;
		}
	}
	printf("saved %d of 3\n", saved);
	remove(path);
	return 0;
}
