/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * N-way switches: one of 2 to 8 arms is chosen at run time. A switch costs one jump.
 *
 *     DEFINE_STATIC_MODE(policy, 3, 0);             in one file: three modes; 0 is the first one in force
 *     DECLARE_STATIC_MODE(policy, 3, 0);            in others: the same numbers
 *
 *     switch (static_switch(policy, 3)) {           a jump to the arm of the mode, with optimisation: no load, no compare
 *     case 0: ...
 *     case 1: ...
 *     case 2: ...
 *     }
 *     static_mode_set(policy, 2);                   makes all these switches jump to the arm of mode 2, for all threads
 *
 * The numbers must be literals. You may have an enumeration for them: cast the result to it, and -Wswitch finds missing cases. The compiler does not
 * merge switches, not even two in a row. Can be used anywhere, signal handlers included.
 *
 *     static_switch(name, n)        the mode, from 0 to n - 1
 *     static_mode_set(name, mode)   returns 0, or a negative errno like <jumplabel.h>'s functions; -EINVAL: there is no such mode. While
 *                                   it runs, each switch takes the old arm or the new one; when it returns 0, every switch that starts
 *                                   later takes the new one
 *     static_mode_get(name)         the mode; costs a load
 */
#ifndef JUMPLABEL_STATIC_SWITCH_H
#define JUMPLABEL_STATIC_SWITCH_H

#include "jump_label.h"

/* A static mode. All members are the library's. */
struct static_mode {
	unsigned char _shown;
	unsigned char mode;
	unsigned char _count;
	unsigned char _reserved;
	unsigned int _flags;
} __attribute__((__aligned__(8)));

JUMPLABEL_C_BEGIN_

/* Makes all switches of the mode take the arm of this number. Returns 0, or a negative errno, like <jumplabel.h>'s functions. */
int jumplabel_static_mode_set(struct static_mode *_mode, int _number);

JUMPLABEL_C_END_

/* The type contains both numbers: files that disagree about them do not compile, and each switch knows the first mode. */
#define DECLARE_STATIC_MODE(name, n, initial)                                                                          \
	JUMPLABEL_ASSERT_((n) >= 2 && (n) <= 8 && (initial) >= 0 && (initial) < (n),                                   \
			  "a static mode has 2 to 8 modes, and the first is one of them");                                \
	typedef char jumplabel_modes_of_##name##_[n][(initial) + 1];                                                   \
	extern JUMPLABEL_STRUCT_ static_mode name

#define DEFINE_STATIC_MODE(name, n, initial)                                                                           \
	DECLARE_STATIC_MODE(name, n, initial);                                                                         \
	JUMPLABEL_MODE_RECORD_(name)                                                                                   \
	JUMPLABEL_STRUCT_ static_mode name = { initial, initial, n, 0, 0 }

#define JUMPLABEL_MODES_(name) (sizeof(jumplabel_modes_of_##name##_) / sizeof(*JUMPLABEL_MODES_AT_(name)))
#define JUMPLABEL_FIRST_MODE_(name) (sizeof(*JUMPLABEL_MODES_AT_(name)) - 1)
#define JUMPLABEL_MODES_AT_(name) (*JUMPLABEL_STATIC_CAST_(jumplabel_modes_of_##name##_ *, JUMPLABEL_NULL_))

#define JUMPLABEL_ASSERT_MODES_(name, n)                                                                               \
	JUMPLABEL_ASSERT_((n) == JUMPLABEL_MODES_(name), "static_switch() takes a mode, and how many modes it has")

#define static_mode_get(name) (JUMPLABEL_STATIC_CAST_(int, __atomic_load_n(&(name).mode, __ATOMIC_ACQUIRE)))
#define static_mode_set(name, mode) jumplabel_static_mode_set(&(name), mode)

#ifdef JUMPLABEL_FALLBACK

#define JUMPLABEL_MODE_RECORD_(name)
#define static_switch(name, n)                                                                                         \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_MODES_(name, n);                                                                      \
		int jumplabel_mode = static_mode_get(name);                                                            \
		if (jumplabel_mode >= (n))                                                                             \
			__builtin_unreachable();                                                                       \
		jumplabel_mode;                                                                                        \
	})

#else

#define JUMPLABEL_MODE_RECORD_(name)											\
	JUMPLABEL_DECLARATION_(jumplabel_declaration_of_##name##_, #name, 8 | JUMPLABEL_INDIRECT_)			\
	JUMPLABEL_RECORD_IN_(name, &name)

/* Expands to m(mode) for each mode but 0. */
#define JUMPLABEL_ARMS_2_(m) m(1)
#define JUMPLABEL_ARMS_3_(m) JUMPLABEL_ARMS_2_(m) m(2)
#define JUMPLABEL_ARMS_4_(m) JUMPLABEL_ARMS_3_(m) m(3)
#define JUMPLABEL_ARMS_5_(m) JUMPLABEL_ARMS_4_(m) m(4)
#define JUMPLABEL_ARMS_6_(m) JUMPLABEL_ARMS_5_(m) m(5)
#define JUMPLABEL_ARMS_7_(m) JUMPLABEL_ARMS_6_(m) m(6)
#define JUMPLABEL_ARMS_8_(m) JUMPLABEL_ARMS_7_(m) m(7)

#define JUMPLABEL_ARM_LABEL_(mode) "%l[jumplabel_arm_" #mode "]"
#define JUMPLABEL_ARM_SITE_(mode)                                                                                      \
	".elseif " JUMPLABEL_NUMBER_("_first") " == " #mode ";" JUMPLABEL_JUMP_(JUMPLABEL_HERE_, JUMPLABEL_ARM_LABEL_(mode))
#define JUMPLABEL_ARM_ROW_(mode) ".long " #mode ";.long " JUMPLABEL_ARM_LABEL_(mode) " - .;"
#define JUMPLABEL_ARM_TO_(mode) , jumplabel_arm_##mode

/* If a site is not written by one store, threads that reach it during a change fall through, to a stub that compares the mode with the number of each
   arm. It does so in a loop, because the mode may change between two comparisons. */
#ifdef JUMPLABEL_MODE_IS_
#define JUMPLABEL_ARM_TEST_(mode) JUMPLABEL_MODE_IS_(#mode, JUMPLABEL_ARM_LABEL_(mode))
#define JUMPLABEL_BEHIND_(n)                                                                                           \
	JUMPLABEL_JUMP_STUB_("6f")                                                                                     \
	JUMPLABEL_BEGIN_COLD_ "6:" JUMPLABEL_ARM_TEST_(0) JUMPLABEL_ARMS_##n##_(JUMPLABEL_ARM_TEST_)                   \
	JUMPLABEL_JUMP_STUB_("6b") JUMPLABEL_KEEP_ARMS_("7f") JUMPLABEL_END_COLD_
#else
#define JUMPLABEL_BEHIND_(n)
#endif

/* The site; its arms, after the function; its table entry (kind 3). */
#define JUMPLABEL_SWITCH_ASM_(name, n)                                                                                 \
	__asm__ __volatile__ goto(                                                                                      \
		JUMPLABEL_SLOT_ JUMPLABEL_PREFIX_                                                                      \
		".if " JUMPLABEL_NUMBER_("_first") " == 0;"                                                             \
		JUMPLABEL_JUMP_(JUMPLABEL_HERE_, JUMPLABEL_ARM_LABEL_(0))                                              \
		JUMPLABEL_ARMS_##n##_(JUMPLABEL_ARM_SITE_)                                                             \
		".endif;"                                                                                              \
		JUMPLABEL_BEHIND_(n)                                                                                   \
		JUMPLABEL_BEGIN_ARMS_ ".balign 4;7:.long " #n ";"                                                      \
		JUMPLABEL_ARM_ROW_(0) JUMPLABEL_ARMS_##n##_(JUMPLABEL_ARM_ROW_)                                        \
		JUMPLABEL_END_COLD_                                                                                    \
		JUMPLABEL_TIE_(JUMPLABEL_HERE_, "3f")                                                                  \
		".pushsection " JUMPLABEL_TABLE_ ";"                                                                   \
		".balign 4;"                                                                                           \
		"3:.long " JUMPLABEL_HERE_ " - .;"                                                                     \
		".long 7b - .;"                                                                                        \
		".long " JUMPLABEL_KEY_WORD_ ", " JUMPLABEL_NUMBER_("_meta") ";"                                       \
		".popsection;"                                                                                         \
		:                                                                                                      \
		: [_key] JUMPLABEL_KEY_CONSTRAINT_(&(name)),                                                           \
		  [_first] "i"(JUMPLABEL_FIRST_MODE_(name)),                                                           \
		  [_meta] "i"(12 | JUMPLABEL_INDIRECT_ | JUMPLABEL_PREFIXED_),                                         \
		  JUMPLABEL_KEY_CONSTRAINT_(JUMPLABEL_OBJECT_OF_TYPED_)                                                \
		: "cc"                                                                                                 \
		: jumplabel_arm_0 JUMPLABEL_ARMS_##n##_(JUMPLABEL_ARM_TO_))

#ifdef __cplusplus
/* A function of its own, for the reasons given in site.h for a check. */
#define JUMPLABEL_ARM_RETURNS_(mode) jumplabel_arm_##mode : return mode;
#define static_switch(name, n)                                                                                         \
	([]() __attribute__((__always_inline__)) -> int {                                                              \
		struct jumplabel_alone {                                                                               \
			__attribute__((__always_inline__)) static __inline__ int jumplabel_mode()                      \
			{                                                                                              \
				JUMPLABEL_ASSERT_MODES_(name, n);                                                      \
				JUMPLABEL_SWITCH_ASM_(name, n);                                                        \
				__builtin_unreachable();                                                               \
				JUMPLABEL_ARM_RETURNS_(0) JUMPLABEL_ARMS_##n##_(JUMPLABEL_ARM_RETURNS_)                \
			}                                                                                              \
		};                                                                                                     \
		return jumplabel_alone::jumplabel_mode();                                                              \
	}())
#else
#define JUMPLABEL_ARM_DECLARED_(mode) __label__ jumplabel_arm_##mode;
#define JUMPLABEL_ARM_YIELDS_(mode)                                                                                    \
	if (0)                                                                                                         \
	jumplabel_arm_##mode:                                                                                          \
		jumplabel_mode = mode;
#define static_switch(name, n)                                                                                         \
	__extension__({                                                                                                \
		JUMPLABEL_ARM_DECLARED_(0) JUMPLABEL_ARMS_##n##_(JUMPLABEL_ARM_DECLARED_)                              \
		JUMPLABEL_ASSERT_MODES_(name, n);                                                                      \
		int jumplabel_mode;                                                                                    \
		JUMPLABEL_SWITCH_ASM_(name, n);                                                                        \
		__builtin_unreachable();                                                                               \
		JUMPLABEL_ARM_YIELDS_(0) JUMPLABEL_ARMS_##n##_(JUMPLABEL_ARM_YIELDS_)                                  \
		jumplabel_mode;                                                                                        \
	})
#endif

#endif

#endif
