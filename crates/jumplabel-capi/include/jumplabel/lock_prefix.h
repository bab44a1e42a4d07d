/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * UP mode: a process with one thread does without lock prefixes, on x86-64 and i386. Elsewhere, and with JUMPLABEL_FALLBACK, the numbers
 * below are ordinary atomics.
 *
 *     several threads                          jumplabel_up_enter()         one thread
 *     f0 48 0f c1 07   lock xadd %rax, (%rdi)  ──────────────────►          3e 48 0f c1 07   xadd %rax, (%rdi)
 *                                              ◄──────────────────
 *                                              jumplabel_up_leave()
 *
 * On many processors an atomic instruction costs several times as much as the same one without lock. It needs lock only if another one can reach
 * its memory. Each lock here is a site of one byte. In a program that never calls jumplabel_up_enter(), nor has <jumplabel/up_threads.h>,
 * they are ordinary atomics.
 *
 * The rules:
 * - No thread starts between jumplabel_up_enter() and jumplabel_up_leave(): otherwise updates are lost. <jumplabel/up_threads.h>, in one
 *   file of the program, sees to that for all that call pthread_create() or thrd_create(), in libraries, too. A raw clone() does not.
 * - Never in memory that another process, the kernel or a device changes: the other side runs whatever threads this process has.
 * - A process made by clone(CLONE_VM) or vfork() that runs beside this one counts as a thread, and nobody finds it.
 * - Never in a variable of a thread (__thread): the compiler gives it a segment prefix, and there may be one only.
 * Signal handlers need nothing.
 *
 * An object that is loaded in UP mode keeps its prefixes until the next jumplabel_up_enter().
 */
#ifndef JUMPLABEL_LOCK_PREFIX_H
#define JUMPLABEL_LOCK_PREFIX_H

#include "jump_label.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes all lock prefixes out, in all objects. -EAGAIN: there is another thread. One that was just joined may count for some
   microseconds. On any error nothing has changed. */
int jumplabel_up_enter(void);
/* Puts all of them in again. 0, or an error as of jumplabel_enable(): then nothing has changed, and no thread may start. */
int jumplabel_up_leave(void);
/* Whether they are out. */
bool jumplabel_up_is_on(void);

#if (defined(__x86_64__) || defined(__i386__)) && !defined(JUMPLABEL_FALLBACK)
#define JUMPLABEL_UP_ 1

/*
 * For assembler of your own, with operands (two percent signs stand for one here), in front of an instruction that may have lock:
 *
 *     asm volatile(LOCK_PREFIX "incl %0" : "+m"(number));
 *
 * gcc takes it for a long text. `asm inline` tells it that it is one instruction.
 */
#define LOCK_PREFIX                                                                                                    \
	".ifndef .Ljump_prefixes\n"                                                                                    \
	".set .Ljump_prefixes, 0\n"                                                                                    \
	JUMPLABEL_OBJECT_                                                                                              \
	/* The key of the object's prefixes. */                                                                        \
	".pushsection .data.__jumplabel_up, \"awG\", \"progbits\", __jumplabel_up, comdat\n"                           \
	".balign 8\n"                                                                                                  \
	".weak __jumplabel_up\n"                                                                                       \
	".hidden __jumplabel_up\n"                                                                                     \
	".type __jumplabel_up, STT_OBJECT\n"                                                                           \
	".size __jumplabel_up, 8\n"                                                                                    \
	"__jumplabel_up:\n"                                                                                            \
	".long 0, 0\n"                                                                                                 \
	".popsection\n"                                                                                                \
	/* A prefix and its entry, of kind 6. */                                                                       \
	".macro jumplabel_prefix n\n"                                                                                  \
	".Ljump_prefix_\\n\\():\n"                                                                                     \
	".reloc .Ljump_prefix_\\n, BFD_RELOC_NONE, .Ljump_locked_\\n\n"                                                \
	".pushsection " JUMPLABEL_PREFIX_TABLE_ "\n"                                                                   \
	".balign 4\n"                                                                                                  \
	".Ljump_locked_\\n\\():\n"                                                                                     \
	".long .Ljump_prefix_\\n - .\n"                                                                                \
	".long .Ljump_prefix_\\n - .\n"                                                                                \
	".long __jumplabel_up - .\n"                                                                                   \
	".long 24\n"                                                                                                   \
	".popsection\n"                                                                                                \
	".endm\n"                                                                                                      \
	".endif\n"                                                                                                     \
	".set .Ljump_prefixes, .Ljump_prefixes + 1\n"                                                                  \
	".altmacro\n"                                                                                                  \
	"jumplabel_prefix %%.Ljump_prefixes\n"                                                                         \
	".noaltmacro\n"                                                                                              \
	/* In the line of the instruction, so that the assembler says if it may not have one. */                     \
	"lock "

#define JUMPLABEL_PREFIX_TABLE_ "__jump_table, \"ao?\", \"progbits\", .Ljump_prefix_\\n"

#elif defined(__x86_64__) || defined(__i386__)
#define LOCK_PREFIX "lock "
#endif

/*
 * Numbers: struct up_atomic32, struct up_atomic64 (not on i386), zero if they are static or { 0 }. All operations but up_load() are
 * full barriers; they wrap around.
 *
 *     up_load32(&a)                  up_store32(&a, value)            up_add32(&a, value)          up_sub32(&a, value)
 *     up_fetch_add32(&a, value)      up_swap32(&a, value)             up_and32(&a, bits)           up_or32(&a, bits)
 *     up_compare_exchange32(&a, &expected, value)     whether it was `expected`; what it was instead is there then
 */
#ifdef JUMPLABEL_UP_

/* gcc 9, clang 14 and later have `inline`. */
#define JUMPLABEL_LOCKED_(text, ...) __asm__ __volatile__ inline(LOCK_PREFIX text __VA_ARGS__)

#define JUMPLABEL_UP_OPERATION_(bits, type, name, letter)                                                              \
	static inline void up_##name##bits(struct up_atomic##bits *atomic, type value)                                 \
	{                                                                                                              \
		JUMPLABEL_LOCKED_("{" #name letter " %[v], %[a]|" #name " %[a], %[v]}",                                  \
				  : [a] "+m"(atomic->value) : [v] "r"(value) : "memory", "cc");                        \
	}

#define JUMPLABEL_UP_FETCH_ADD_(bits, type, letter)                                                                    \
	static inline type up_fetch_add##bits(struct up_atomic##bits *atomic, type value)                              \
	{                                                                                                              \
		JUMPLABEL_LOCKED_("{xadd" letter " %[v], %[a]|xadd %[a], %[v]}",                                          \
				  : [a] "+m"(atomic->value), [v] "+r"(value) : : "memory", "cc");                      \
		return value;                                                                                          \
	}                                                                                                              \
	static inline bool up_compare_exchange##bits(struct up_atomic##bits *atomic, type *expected, type value)       \
	{                                                                                                              \
		type found = *expected;                                                                                \
		bool same;                                                                                             \
		JUMPLABEL_LOCKED_("{cmpxchg" letter " %[v], %[a]|cmpxchg %[a], %[v]}\n\tsete %[s]",                        \
				  : [a] "+m"(atomic->value), "+a"(found), [s] "=qm"(same)                              \
				  : [v] "r"(value) : "memory", "cc");                                                  \
		*expected = found;                                                                                     \
		return same;                                                                                           \
	}

#else

#define JUMPLABEL_UP_OPERATION_(bits, type, name, letter)                                                              \
	static inline void up_##name##bits(struct up_atomic##bits *atomic, type value)                                 \
	{                                                                                                              \
		__atomic_fetch_##name(&atomic->value, value, __ATOMIC_SEQ_CST);                                        \
	}

#define JUMPLABEL_UP_FETCH_ADD_(bits, type, letter)                                                                    \
	static inline type up_fetch_add##bits(struct up_atomic##bits *atomic, type value)                              \
	{                                                                                                              \
		return __atomic_fetch_add(&atomic->value, value, __ATOMIC_SEQ_CST);                                    \
	}                                                                                                              \
	static inline bool up_compare_exchange##bits(struct up_atomic##bits *atomic, type *expected, type value)       \
	{                                                                                                              \
		return __atomic_compare_exchange_n(&atomic->value, expected, value, false, __ATOMIC_SEQ_CST,           \
						   __ATOMIC_SEQ_CST);                                                  \
	}

#endif

#define JUMPLABEL_UP_ATOMIC_(bits, type, letter)                                                                       \
	struct up_atomic##bits {                                                                                       \
		type value;                                                                                            \
	} __attribute__((aligned(bits / 8)));                                                                          \
	static inline type up_load##bits(const struct up_atomic##bits *atomic)                                         \
	{                                                                                                              \
		return __atomic_load_n(&atomic->value, __ATOMIC_ACQUIRE);                                              \
	}                                                                                                              \
	JUMPLABEL_UP_OPERATION_(bits, type, add, letter)                                                               \
	JUMPLABEL_UP_OPERATION_(bits, type, sub, letter)                                                               \
	JUMPLABEL_UP_OPERATION_(bits, type, and, letter)                                                               \
	JUMPLABEL_UP_OPERATION_(bits, type, or, letter)                                                                \
	JUMPLABEL_UP_FETCH_ADD_(bits, type, letter)                                                                    \
	/* A loop, because xchg locks by itself. */                                                                    \
	static inline type up_swap##bits(struct up_atomic##bits *atomic, type value)                                   \
	{                                                                                                              \
		type found = up_load##bits(atomic);                                                                    \
		while (!up_compare_exchange##bits(atomic, &found, value)) {                                            \
		}                                                                                                      \
		return found;                                                                                          \
	}                                                                                                              \
	static inline void up_store##bits(struct up_atomic##bits *atomic, type value)                                  \
	{                                                                                                              \
		up_swap##bits(atomic, value);                                                                          \
	}

/* In the text of an operation, `and` and `or` are names. */
JUMPLABEL_UP_ATOMIC_(32, uint32_t, "l")
#ifndef __i386__
JUMPLABEL_UP_ATOMIC_(64, uint64_t, "q")
#endif

#ifdef __cplusplus
}
#endif

#endif
