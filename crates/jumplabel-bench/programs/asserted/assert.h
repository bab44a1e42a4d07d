/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * In the place of the C library's <assert.h>: each assert() of a program is behind a check, by one of these ways.
 *
 *     CONSTANT   no check: the compiler knows that it is off        GOTO    what a site is for the compiler, without its instruction
 *     NOP        no check, and a site's instruction                 ONE     the same with one label, which gcc takes for half of all
 *     RELAXED    a relaxed load                                     SITE    a static key; LIKELY: its arm is in line; BARE: without the byte
 *                                                                           in front of the site
 */
#ifndef ASSERTED_H
#define ASSERTED_H

#if defined(CONSTANT)
#define CHECKED 0
#elif defined(NOP)
#define CHECKED                                                                                                        \
	__extension__({                                                                                                \
		__asm__ volatile(".byte 0x40, 0x0f, 0x1f, 0x44, 0x00, 0x00");                                                \
		0;                                                                                                     \
	})
#elif defined(GOTO) && !defined(__clang__)
#define ARM(label)                                                                                                     \
	if (0) {                                                                                                       \
	label:                                                                                                         \
		__attribute__((cold));                                                                                 \
		checked = 1;                                                                                           \
	}
#define CHECKED                                                                                                        \
	__extension__({                                                                                                \
		__label__ arm, other;                                                                                  \
		int checked = 0;                                                                                       \
		__asm__ goto("" : : : : arm, other);                                                                   \
		ARM(arm)                                                                                               \
		ARM(other)                                                                                             \
		checked;                                                                                               \
	})
#elif defined(GOTO) || defined(ONE)
static inline __attribute__((always_inline)) int asserted_goto(void)
{
	__asm__ goto("" : : : : arm);
	return 0;
arm:
	return 1;
}
#define CHECKED __builtin_expect(asserted_goto(), 0)
#elif defined(SITE) || defined(LIKELY) || defined(BARE)
#ifdef BARE
#define JUMPLABEL_NO_SITE_PREFIX
#endif
#include <jumplabel/jump_label.h>
extern struct static_key_false asserted_key;
#ifdef LIKELY
#define CHECKED static_branch_likely(&asserted_key)
#else
#define CHECKED static_branch_unlikely(&asserted_key)
#endif
#elif defined(RELAXED)
extern int asserted_flag;
#define CHECKED __builtin_expect(__atomic_load_n(&asserted_flag, __ATOMIC_RELAXED), 0)
#else
#error "define one of the ways"
#endif

extern void asserted_failed(const char *file, int line) __attribute__((cold, noreturn));

#endif

#undef assert
#define assert(condition) ((void)(CHECKED && ((condition) || (asserted_failed(__FILE__, __LINE__), 0))))
