/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The common part of the C test programs: checks, expected warnings, and a comparison of all bytes of all sites with the state of their keys after
 * each step. It is part of each program, not a library.
 */
#ifndef CHECK_H
#define CHECK_H

#include <string.h>

#include <jumplabel.h>

#include "checked.h"

/* ---- Warnings: none but those that are expected ------------------------------------------------------------------ */

static int warnings;
static char last_warning[512];

static inline void note_warning(const char *message, void *data)
{
	(void)data;
	warnings++;
	snprintf(last_warning, sizeof(last_warning), "%s", message);
}

/* The statement must warn once, with these words. Afterwards all sites must agree with their keys. */
#define WARNS(words, ...)                                                                                              \
	do {                                                                                                           \
		int warnings_before = warnings;                                                                                  \
		last_warning[0] = 0;                                                                                   \
		__VA_ARGS__;                                                                                           \
		if (warnings != warnings_before + 1 || !strstr(last_warning, words))                                            \
			fprintf(stderr, "%d warnings, the last: %s\n", warnings - warnings_before, last_warning);               \
		CHECK(warnings == warnings_before + 1 && strstr(last_warning, words));                                          \
		check_text(__LINE__);                                                                                  \
	} while (0)

/* The statement must not warn. Afterwards all sites must agree with their keys. */
#define STEP(...)                                                                                                      \
	do {                                                                                                           \
		int warnings_before = warnings;                                                                                  \
		__VA_ARGS__;                                                                                           \
		if (warnings != warnings_before)                                                                                \
			fprintf(stderr, "warning: %s\n", last_warning);                                                \
		CHECK(warnings == warnings_before);                                                                             \
		check_text(__LINE__);                                                                                  \
	} while (0)

/* ---- Sites: each holds, in all its bytes, the instruction for its key's state ------------------------------------ */

#ifdef JUMPLABEL_FALLBACK

static inline void check_text(int line)
{
	(void)line;
}

#else

#ifdef _WIN32
/* The record of the object, which is in the library. After seven pointers come the distances to the table's begin and end. */
#ifdef __cplusplus
extern "C" {
#endif
extern const char __jumplabel_object[];
#ifdef __cplusplus
}
#endif
static inline const struct jump_entry *table_bound(int number)
{
	const int32_t *word = (const int32_t *)(const void *)(__jumplabel_object + 7 * sizeof(void *)) + number;

	return (const struct jump_entry *)((uintptr_t)word + (uintptr_t)(intptr_t)*word);
}
#define jump_table_start (table_bound(0))
#define jump_table_stop (table_bound(1))
#else
#ifdef __cplusplus
extern "C" {
#endif
extern const struct jump_entry jump_table_start[] __asm__("__start___jump_table") __attribute__((weak, visibility("hidden")));
extern const struct jump_entry jump_table_stop[] __asm__("__stop___jump_table") __attribute__((weak, visibility("hidden")));
#ifdef __cplusplus
}
#endif
#endif

#define MAX_SITES 4096
/* Whether the site has been a jump. On x86-64 it then falls through as a `test`, no longer as the compiler's nop. */
__attribute__((unused)) static unsigned char has_jumped[MAX_SITES];

static inline size_t site_count(void)
{
	return ((uintptr_t)jump_table_stop - (uintptr_t)jump_table_start) / sizeof(struct jump_entry);
}

/* The bytes that a site must hold, by the manual of the processor. `target` is the place to which it jumps, or would jump. */
static inline void expect(unsigned char *expected, size_t site, bool jumps, uintptr_t target, const unsigned char *found)
{
	const struct jump_entry *entry = &jump_table_start[site];
	uintptr_t distance = target - jump_entry_code(entry);
	uint32_t far = (uint32_t)distance;

	(void)found, (void)far;
#if defined(__x86_64__) || defined(__i386__)
	if (jump_entry_is_naked(entry)) {
		memcpy(expected, jumps ? "\xb8\x01\x00\x00\x00" : "\xb8\x00\x00\x00\x00", 5);
		return;
	}
	if (jump_entry_is_short(entry)) {
		has_jumped[site] |= jumps || found[0] == 0xeb;
		expected[0] = jumps ? 0xeb : 0xa8;
		expected[1] = (unsigned char)(far - 2);
		CHECK(far - 2 + 128 < 256);
		if (!has_jumped[site] && found[0] != 0xa8)
			memcpy(expected, "\x66\x90", 2);
		return;
	}
	has_jumped[site] |= jumps || found[0] == 0xe9;
	expected[0] = jumps ? 0xe9 : 0xa9;
	far -= 5;
	memcpy(expected + 1, &far, 4);
	/* A site of another object's key may have been a jump for a moment while its object was loaded. */
	if (!has_jumped[site] && found[0] != 0xa9)
		memcpy(expected, "\x0f\x1f\x44\x00\x00", 5);
#elif defined(__s390x__)
	far = __builtin_bswap32((uint32_t)((intptr_t)distance / 2));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	far = __builtin_bswap32(far);
#endif
	memcpy(expected, jumps ? "\xc0\xf4" : "\xc0\x04", 2);
	memcpy(expected + 2, &far, 4);
#else
#if defined(__aarch64__)
	far = jumps ? 0x14000000 | (far >> 2 & 0x3ffffff) : 0xd503201f;
#elif defined(__arm__)
	far = jumps ? 0xea000000 | ((far - 8) >> 2 & 0xffffff) : 0xe320f000;
#elif defined(__loongarch__)
	far = jumps ? 0x50000000 | (far >> 2 & 0xffff) << 10 | (far >> 18 & 0x3ff) : 0x03400000;
#elif defined(__powerpc64__)
	far = jumps ? 0x48000000 | (far & 0x3fffffc) : 0x60000000;
#else
	if (jump_entry_is_naked(entry))
		far = jumps ? 0x00100513 : 0x00000513;
	else
		far = jumps ? (far >> 20 & 1) << 31 | (far >> 1 & 0x3ff) << 21 | (far >> 11 & 1) << 20 |
				      (far >> 12 & 0xff) << 12 | 0x6f :
			      0x13;
#endif
	memcpy(expected, &far, 4);
#endif
}

/* The number of sites with two bytes. */
__attribute__((unused)) static inline size_t short_count(void)
{
	size_t count = 0;

	for (size_t i = 0; i < site_count(); i++)
		count += jump_entry_is_short(&jump_table_start[i]);
	return count;
}

/* A trampoline must jump to the call's target, or, if that is out of reach, fall through to a jump through the slot. */
static inline void expect_call(unsigned char *expected, size_t site, const unsigned char *found)
{
	const struct jump_entry *entry = &jump_table_start[site];
	const struct static_call_key *key = (const struct static_call_key *)(const void *)jump_entry_key(entry);
	uintptr_t target = key->_func ? (uintptr_t)key->_func : jump_entry_target(entry);

	expect(expected, site, true, target, found);
	if (!memcmp(expected, found, JUMP_LABEL_NOP_SIZE) || (uintptr_t)key->_slot != target)
		return;
	expect(expected, site, false, target, found);
#if defined(__x86_64__)
	memcpy(expected, found, JUMP_LABEL_NOP_SIZE); /* The bytes after the opcode do not matter. */
	expected[0] = 0xa9;
#elif defined(__s390x__)
	memcpy(expected + 2, found + 2, 4);
#endif
}

/* For a site that can load, but does not: the word before the stub leads to its arm. If it falls through, its target does not matter. */
__attribute__((unused)) static inline void expect_loading(unsigned char *expected, size_t site, bool jumps, const unsigned char *found)
{
	uintptr_t word = jump_entry_target(&jump_table_start[site]) - 4;
	int32_t distance;

	memcpy(&distance, (const void *)word, sizeof distance);
	expect(expected, site, jumps, word + (uintptr_t)(intptr_t)distance, found);
#if defined(__x86_64__) || defined(__i386__)
	if (!jumps && expected[0] == 0xa9)
		memcpy(expected + 1, found + 1, 4);
#elif defined(__s390x__)
	if (!jumps)
		memcpy(expected + 2, found + 2, 4);
#endif
}

static inline void check_text(int line)
{
	CHECK(site_count() > 0 && site_count() <= MAX_SITES);
	for (size_t i = 0; i < site_count(); i++) {
		const struct jump_entry *entry = &jump_table_start[i];
#ifdef _WIN32
		/* All code is before the table. So the linker has dropped this site, and kept its entry. */
		if (entry->code >= 0)
			continue;
#endif
		bool is_call = jump_entry_is_call(entry);
		bool jumps = is_call || static_key_enabled(jump_entry_key(entry)) != jump_entry_is_branch(entry);
		unsigned char found[JUMP_LABEL_NOP_SIZE], expected[JUMP_LABEL_NOP_SIZE];
		int size = jump_entry_size(entry);

		for (int at = 0; at < size; at++)
			found[at] = ((const volatile unsigned char *)jump_entry_code(entry))[at];
		/* A site that was not patched yet still loads, which is correct in both states. */
		if (is_call)
			expect_call(expected, i, found);
		else if (jump_entry_loads(entry))
			expect_loading(expected, i, jumps, found);
		else
			expect(expected, i, jumps, jump_entry_target(entry), found);
		if (jump_entry_loads(entry) && memcmp(found, expected, (size_t)size))
			expect(expected, i, true, jump_entry_target(entry), found);
		if (memcmp(found, expected, (size_t)size)) {
			fprintf(stderr, "line %d: site %zu holds", line, i);
			for (int at = 0; at < size; at++)
				fprintf(stderr, " %02x", found[at]);
			fprintf(stderr, "\n");
			exit(1);
		}
		checks++;
	}
}

#endif

#endif
