/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A tracer within the process. It reads the notes in an object's file, replaces a note's nop by a call or a breakpoint, and reads the arguments from
 * the places in the note. It traces one note at a time.
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

#include "usdt_nop.h"

struct note {
	uint64_t nop, base, semaphore;
	const char *places;
};

static struct note traced;
/* These are volatile, because the compiler does not know that a nop changes them. */
static volatile int hits, count;
static volatile int64_t values[16];
/* Called while the arguments are valid, to read more. */
static void (*also)(void);

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

/* Reads all arguments in `places`: -4@%edi, 8f@%rax, 8@-16(%rbp), 4@$7; -4@x0, 8@[sp, 16], 4@7; -4@a0, 8@-16(s0), 4@7. */
void usdt_seen(const struct registers *registers)
{
	const char *at = traced.places;

	hits = hits + 1;
	for (count = 0; *at; count = count + 1) {
		char *end;
		long size = strtol(at, &end, 10), offset = 0;
		bool memory = false;

		end += *end == 'f';
		if (*end++ != '@')
			fail("no place", at);
		end += *end == '$';
		if (*end == '[')
			memory = true, end++;
		else if (*end == '(' || *end == '-' || (*end >= '0' && *end <= '9'))
			offset = strtol(end, &end, 10), memory = *end == '(', end += memory;
		if (!*end || *end == ' ') {
			values[count] = offset;
		} else {
			end += *end == '%';
			at = end;
			end += strcspn(end, " ,])");
			uint64_t value = of_register(registers, at, (size_t)(end - at));
			if (*end == ',')
				offset = strtol(end + 1, &end, 10);
			if (memory) {
				const void *place = (const void *)(uintptr_t)(value + (uint64_t)offset);
				value = 0;
				memcpy(&value, place, (size_t)labs(size));
				end++;
			}
			values[count] = sized(value, size);
		}
		at = end + (*end == ' ');
	}
	if (also)
		also();
}

/* The file of the object that contains `within`, and the address of the object's first segment. With -DSTATIC, there is only one object. */
static const char *object_of(const void *within, const void **base)
{
#ifdef STATIC
	extern const char __ehdr_start[];

	(void)within;
	*base = __ehdr_start;
	return "/proc/self/exe";
#else
	static Dl_info info;

	if (!dladdr(within, &info))
		fail("no object", "of an address");
	*base = info.dli_fbase;
	return strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe";
#endif
}

/* The note of this name in the file of the object that contains `within`, with its addresses in this process. */
static struct note find_note(const void *within, const char *provider, const char *name)
{
	struct stat status;
	struct note found = { 0, 0, 0, 0 };
	const void *base;
	const char *path = object_of(within, &base);
	int file = open(path, O_RDONLY);

	if (file < 0 || fstat(file, &status))
		fail("no file", name);
	char *data = (char *)malloc((size_t)status.st_size);
	if (read(file, data, (size_t)status.st_size) != status.st_size)
		fail("cannot read", path);
	close(file);
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)data;
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(data + head->e_phoff);
	while (segment->p_type != PT_LOAD)
		segment++;
	uint64_t bias = (uint64_t)(uintptr_t)base - (segment->p_vaddr & ~4095ul);
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

static void raise_semaphore(const struct note *note, short by)
{
	unsigned short now = (unsigned short)(*(volatile unsigned short *)(uintptr_t)note->semaphore + by);

	poke(note->semaphore, &now, 2);
}

static void attach(const void *within, const char *provider, const char *name)
{
	traced = find_note(within, provider, name);
	if (memcmp((const void *)(uintptr_t)traced.nop, nop, sizeof(nop)) || !traced.base)
		fail("not a nop", name);
	hook(traced.nop);
	raise_semaphore(&traced, 1);
	hits = 0;
}

static void detach(void)
{
	raise_semaphore(&traced, -1);
	poke(traced.nop, nop, sizeof(nop));
}

#endif
