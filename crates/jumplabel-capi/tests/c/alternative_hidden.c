/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Alternatives of a program and of a library (-DLIBRARY). While the library's code cannot be read, neither of them changes. Prints "ok".
 */
#include <jumplabel.h>

#define NUMBER(name)                                                                                                   \
	__attribute__((noinline)) int name(void)                                                                       \
	{                                                                                                              \
		int number;                                                                                            \
		__asm__ volatile(ALTERNATIVE("movl $1, %0", "movl $2, %0", X86_FEATURE_POPCNT) : "=r"(number));        \
		return number;                                                                                         \
	}

#ifdef LIBRARY
int of_library(void);
NUMBER(of_library)
#else
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>

#include "checked.h"

int of_library(void);
static NUMBER(of_program)

/* Changes the protection of the library's executable segment. */
static int protect(struct dl_phdr_info *object, size_t size, void *protection)
{
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~4095ul;
		uintptr_t end = object->dlpi_addr + segment->p_vaddr + segment->p_memsz;

		if (segment->p_flags & PF_X && start <= (uintptr_t)of_library && (uintptr_t)of_library < end)
			CHECK(mprotect((void *)start, end - start, *(int *)protection) == 0);
	}
	return 0;
}

static int protection = PROT_NONE;

int main(void)
{
	CHECK(of_program() == 1 && of_library() == 1);
	dl_iterate_phdr(protect, &protection);
	CHECK(jumplabel_alternatives_apply() == -EACCES);
	CHECK(of_program() == 1);
	protection = PROT_READ | PROT_EXEC;
	dl_iterate_phdr(protect, &protection);
	CHECK(of_program() == 1 && of_library() == 1);
	CHECK(jumplabel_alternatives_apply() == 0);
	CHECK(of_program() == 2 && of_library() == 2);
	puts("ok");
	return 0;
}
#endif
