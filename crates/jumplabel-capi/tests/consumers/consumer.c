/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that uses only the installed files of jumplabel. */
#include <jumplabel.h>

#include <stdio.h>

static DEFINE_STATIC_KEY_FALSE(verify);

static int work(int x)
{
	if (static_branch_unlikely(&verify))
		printf("verified %d\n", x);
	return x + 1;
}

int main(void)
{
	int error, x = work(1);

	error = jumplabel_enable(&verify.key);
	if (error) {
		fprintf(stderr, "%s\n", jumplabel_strerror(error));
		return 1;
	}
	return work(x) != 3;
}
