/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A tracer within the process: it reads the notes of an object's file, makes a call of a note's nop, as kernels from 6.18 on do, and reads the
 * arguments from where the note says. One at a time.
 */
#ifndef USDT_H
#define USDT_H

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct note {
	uint64_t nop, base, semaphore;
	const char *places;
};

/* In the order in which the call pushes them. */
struct registers {
	uint64_t all[15], flags, ret;
};
static const char *const names[16][4] = {
	{ "rax", "eax", "ax", "al" },	 { "rbx", "ebx", "bx", "bl" },	  { "rcx", "ecx", "cx", "cl" },
	{ "rdx", "edx", "dx", "dl" },	 { "rsi", "esi", "si", "sil" },	  { "rdi", "edi", "di", "dil" },
	{ "rbp", "ebp", "bp", "bpl" },	 { "r8", "r8d", "r8w", "r8b" },	  { "r9", "r9d", "r9w", "r9b" },
	{ "r10", "r10d", "r10w", "r10b" }, { "r11", "r11d", "r11w", "r11b" }, { "r12", "r12d", "r12w", "r12b" },
	{ "r13", "r13d", "r13w", "r13b" }, { "r14", "r14d", "r14w", "r14b" }, { "r15", "r15d", "r15w", "r15b" },
	{ "rsp", "esp", "sp", "spl" },
};

__asm__(".text\n"
	".globl usdt_call\n"
	"usdt_call:\n"
	"pushfq; push %r15; push %r14; push %r13; push %r12; push %r11; push %r10; push %r9; push %r8\n"
	"push %rbp; push %rdi; push %rsi; push %rdx; push %rcx; push %rbx; push %rax\n"
	"cld; mov %rsp,%rdi; mov %rsp,%rbx; and $-16,%rsp; sub $512,%rsp; fxsave64 (%rsp)\n"
	"call usdt_seen\n"
	"fxrstor64 (%rsp); mov %rbx,%rsp\n"
	"pop %rax; pop %rbx; pop %rcx; pop %rdx; pop %rsi; pop %rdi; pop %rbp\n"
	"pop %r8; pop %r9; pop %r10; pop %r11; pop %r12; pop %r13; pop %r14; pop %r15; popfq\n"
	"ret\n");
#ifdef __cplusplus
extern "C" {
#endif
void usdt_call(void);
#ifndef __clang__
__attribute__((__externally_visible__))
#endif
__attribute__((__used__)) void usdt_seen(const struct registers *registers);
#ifdef __cplusplus
}
#endif

static struct note traced;
static int hits, count;
static int64_t values[16];
/* Reads more while the arguments are there. */
static void (*also)(void);

static void fail(const char *what, const char *where)
{
	printf("%s: %s\n", what, where);
	exit(1);
}

static uint64_t of_register(const struct registers *registers, const char *name, size_t length)
{
	for (int number = 0; number < 16; number++)
		for (int size = 0; size < 4; size++)
			if (strlen(names[number][size]) == length && !memcmp(names[number][size], name, length))
				return number < 15 ? registers->all[number] : (uint64_t)(uintptr_t)(registers + 1);
	fail("no register", name);
	return 0;
}

static int64_t sized(uint64_t value, long size)
{
	switch (size) {
	case 1: return (uint8_t)value;
	case 2: return (uint16_t)value;
	case 4: return (uint32_t)value;
	case -1: return (int8_t)value;
	case -2: return (int16_t)value;
	case -4: return (int32_t)value;
	default: return (int64_t)value;
	}
}

/* Reads all of `places`: -4@%edi, 8@-16(%rbp), 4@$7. */
void usdt_seen(const struct registers *registers)
{
	const char *at = traced.places;

	hits++;
	for (count = 0; *at; count++) {
		char *end;
		long size = strtol(at, &end, 10), offset;

		if (*end++ != '@')
			fail("no place", at);
		if (*end == '$') {
			values[count] = strtoll(end + 1, &end, 10);
		} else if (*end == '%') {
			at = end + 1;
			end += strcspn(end, " ");
			values[count] = sized(of_register(registers, at, (size_t)(end - at)), size);
		} else {
			offset = strtol(end, &end, 10);
			at = end + 2;
			end += strcspn(end, ")");
			const void *place = (const void *)(uintptr_t)(of_register(registers, at, (size_t)(end - at)) + (uint64_t)offset);
			uint64_t value = 0;
			memcpy(&value, place, (size_t)labs(size));
			values[count] = sized(value, size);
			end++;
		}
		at = end + (*end == ' ');
	}
	if (also)
		also();
}

/* The note of that name in the file of the object that `within` lies in; its addresses are those of the process. */
static struct note find_note(const void *within, const char *provider, const char *name)
{
	Dl_info info;
	struct stat status;
	struct note found = { 0, 0, 0, 0 };
	int file = -1;

	if (!dladdr(within, &info) || (file = open(strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe", O_RDONLY)) < 0 ||
	    fstat(file, &status))
		fail("no file", name);
	char *data = (char *)malloc((size_t)status.st_size);
	if (read(file, data, (size_t)status.st_size) != status.st_size)
		fail("cannot read", info.dli_fname);
	close(file);
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)data;
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(data + head->e_phoff);
	while (segment->p_type != PT_LOAD)
		segment++;
	uint64_t bias = (uint64_t)(uintptr_t)info.dli_fbase - (segment->p_vaddr & ~4095ul);
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(data + head->e_shoff);
	const char *texts = data + sections[head->e_shstrndx].sh_offset;
	for (int section = 0; section < head->e_shnum; section++) {
		if (strcmp(texts + sections[section].sh_name, ".note.stapsdt"))
			continue;
		const char *at = data + sections[section].sh_offset, *end = at + sections[section].sh_size;
		while (at < end) {
			const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;
			const uint64_t *words = (const uint64_t *)(at + 20);
			const char *of = at + 44, *called = of + strlen(of) + 1;
			if (!strcmp(of, provider) && !strcmp(called, name)) {
				if (found.nop)
					fail("two notes", name);
				found.nop = words[0] + bias;
				found.base = words[1];
				found.semaphore = words[2] ? words[2] + bias : 0;
				found.places = called + strlen(called) + 1;
			}
			at += 20 + ((note->n_descsz + 3) & ~3u);
		}
	}
	if (!found.nop)
		fail("no note", name);
	return found;
}

/* As tools write. */
static void poke(uint64_t address, const void *bytes, size_t size)
{
	int memory = open("/proc/self/mem", O_WRONLY);

	if (pwrite(memory, bytes, size, (off_t)address) != (ssize_t)size)
		fail("cannot write", "/proc/self/mem");
	close(memory);
}

static void raise_semaphore(const struct note *note, short by)
{
	unsigned short now = (unsigned short)(*(volatile unsigned short *)(uintptr_t)note->semaphore + by);

	poke(note->semaphore, &now, 2);
}

/* The nop becomes a jump to the call, by way of a page that the nop reaches, wherever this program is. */
static void attach(const void *within, const char *provider, const char *name)
{
	static const unsigned char nop[5] = { 0x0f, 0x1f, 0x44, 0, 0 };
	unsigned char call[5] = { 0xe8 };
	int64_t distance;

	traced = find_note(within, provider, name);
	if (memcmp((const void *)(uintptr_t)traced.nop, nop, 5) || !traced.base)
		fail("not a nop", name);
	distance = (int64_t)(uintptr_t)&usdt_call - (int64_t)(traced.nop + 5);
	if (distance != (int32_t)distance)
		fail("too far", name);
	memcpy(call + 1, &distance, 4);
	poke(traced.nop, call, 5);
	raise_semaphore(&traced, 1);
	hits = 0;
}

static void detach(void)
{
	static const unsigned char nop[5] = { 0x0f, 0x1f, 0x44, 0, 0 };

	raise_semaphore(&traced, -1);
	poke(traced.nop, nop, 5);
}

#endif
