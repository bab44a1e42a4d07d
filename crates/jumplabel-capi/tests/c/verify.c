/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A site that holds the bytes of its file again, because its page was dropped (MADV_DONTNEED), is restored. Prints "ok". */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jumplabel.h>

static DEFINE_STATIC_KEY_FALSE(key);

__attribute__((noinline)) static int check(void)
{
	return static_branch_unlikely(&key);
}

static int drop(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	return madvise((void *)((uintptr_t)check & ~(page - 1)), page, MADV_DONTNEED);
}

int main(void)
{
	if (jumplabel_verify_key(NULL) != -EINVAL || jumplabel_verify() != 0 || jumplabel_verify_key(&key.key) != 0)
		return 1;
	if (jumplabel_enable(&key.key) || !check() || jumplabel_verify() != 0)
		return 2;
	if (drop() || check())
		return 3;
	if (jumplabel_verify_key(&key.key) != 1 || !check())
		return 4;
	if (drop() || check() || jumplabel_verify() != 1 || !check() || jumplabel_verify() != 0)
		return 5;
	puts("ok");
	return 0;
}
