/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * UP mode: a process with one thread runs without lock prefixes. On x86-64 and i386; elsewhere, and with JUMPLABEL_FALLBACK, the operations below are
 * ordinary atomics.
 *
 *     several threads                          jumplabel_up_enter()         one thread
 *     f0 48 0f c1 07   lock xadd %rax, (%rdi)  ──────────────────►          3e 48 0f c1 07   xadd %rax, (%rdi)
 *                                              ◄──────────────────
 *                                              jumplabel_up_leave()
 *
 * On many processors, an atomic instruction costs several times as much as the same one without lock. The lock is needed only if another thread can
 * reach its memory. Here, each lock prefix is a site of one byte. In a program that never enters UP mode, these operations are ordinary atomics.
 *
 * The rules:
 * - No thread may start between jumplabel_up_enter() and jumplabel_up_leave(): updates would be lost. <jumplabel/up_threads.h>, in one file of
 *   the program, leaves UP mode before each pthread_create() and thrd_create(), in libraries, too, but not before a raw clone().
 * - Never use them in memory that another process, the kernel or a device changes: the other side runs whatever threads this process has.
 * - A process made by clone(CLONE_VM) or vfork() that runs at the same time counts as a thread, but is not detected.
 * - Never use them for a thread-local variable (__thread): it needs a segment prefix, and an instruction can have only one.
 * Signal handlers may use them without further rules.
 *
 * An object that is loaded in UP mode keeps its prefixes until the next jumplabel_up_enter().
 */
#ifndef JUMPLABEL_LOCK_PREFIX_H
#define JUMPLABEL_LOCK_PREFIX_H

#include "jump_label.h"

JUMPLABEL_C_BEGIN_

/* Removes all lock prefixes, in all objects. -EAGAIN: there is another thread (also a joined one, for some microseconds). After an error, nothing has
   changed. */
int jumplabel_up_enter(void);
/* Puts all of them back. Returns 0, or an error as jumplabel_enable() does: then nothing has changed, and no thread may start. */
int jumplabel_up_leave(void);
/* True while they are removed. */
bool jumplabel_up_is_on(void);

#if (defined(__x86_64__) || defined(__i386__)) && defined(__ELF__) && !defined(JUMPLABEL_FALLBACK)
#define JUMPLABEL_UP_ 1

/*
 * A lock prefix for your own assembler with operands (where two percent signs stand for one), before an instruction that may have one:
 *
 *     asm volatile(LOCK_PREFIX "incl %0" : "+m"(number));
 *
 * gcc overestimates the size of this text. `asm inline` tells it that it is one instruction.
 */
#define LOCK_PREFIX                                                                                                    \
	".ifndef .Ljump_prefixes\n"                                                                                    \
	".set .Ljump_prefixes, 0\n"                                                                                    \
	JUMPLABEL_OBJECT_                                                                                              \
	/* The one key to which all prefixes of the object belong. */                                                  \
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
	/* On the line of the instruction, so that the assembler complains if it cannot have a lock. */                \
	"lock "

#define JUMPLABEL_PREFIX_TABLE_ "__jump_table, \"ao?\", \"progbits\", .Ljump_prefix_\\n"

#elif defined(__x86_64__) || defined(__i386__)
#define LOCK_PREFIX "lock "
#endif

/*
 * The numbers: struct up_atomic32, struct up_atomic64 (not on i386). They are zero if they are static or initialised with { 0 }. All operations but
 * up_load() are full barriers. They wrap around.
 *
 *     up_load32(&a)                  up_store32(&a, value)            up_add32(&a, value)          up_sub32(&a, value)
 *     up_fetch_add32(&a, value)      up_swap32(&a, value)             up_and32(&a, bits)           up_or32(&a, bits)
 *     up_compare_exchange32(&a, &expected, value)     true if it was `expected`; otherwise writes the present value there
 */
#ifdef JUMPLABEL_UP_

/* gcc 9, clang 14 and later accept `asm inline`. */
#define JUMPLABEL_LOCKED_(text, ...) __asm__ __volatile__ __inline__(LOCK_PREFIX text __VA_ARGS__)

#define JUMPLABEL_UP_OPERATION_(bits, type, name, text, fetch, letter)                                                              \
	static __inline__ void name##bits(struct up_atomic##bits *_atomic, type _value)                           \
	{                                                                                                              \
		JUMPLABEL_LOCKED_("{" text letter " %[_v], %[_a]|" text " %[_a], %[_v]}",                            \
				  : [_a] "+m"(_atomic->_value) : [_v] "r"(_value) : "memory", "cc");                   \
	}

#define JUMPLABEL_UP_FETCH_ADD_(bits, type, letter)                                                                    \
	static __inline__ type up_fetch_add##bits(struct up_atomic##bits *_atomic, type _value)                        \
	{                                                                                                              \
		JUMPLABEL_LOCKED_("{xadd" letter " %[_v], %[_a]|xadd %[_a], %[_v]}",                                   \
				  : [_a] "+m"(_atomic->_value), [_v] "+r"(_value) : : "memory", "cc");                 \
		return _value;                                                                                         \
	}                                                                                                              \
	static __inline__ bool up_compare_exchange##bits(struct up_atomic##bits *_atomic, type *_expected, type _value) \
	{                                                                                                              \
		type _found = *_expected;                                                                              \
		bool _same;                                                                                            \
		JUMPLABEL_LOCKED_("{cmpxchg" letter " %[_v], %[_a]|cmpxchg %[_a], %[_v]}\n\tsete %[_s]",               \
				  : [_a] "+m"(_atomic->_value), "+a"(_found), [_s] "=qm"(_same)                        \
				  : [_v] "r"(_value) : "memory", "cc");                                                \
		*_expected = _found;                                                                                   \
		return _same;                                                                                          \
	}

#else

#define JUMPLABEL_UP_OPERATION_(bits, type, name, text, fetch, letter)                                                              \
	static __inline__ void name##bits(struct up_atomic##bits *_atomic, type _value)                           \
	{                                                                                                              \
		fetch(&_atomic->_value, _value, __ATOMIC_SEQ_CST);                                     \
	}

#define JUMPLABEL_UP_FETCH_ADD_(bits, type, letter)                                                                    \
	static __inline__ type up_fetch_add##bits(struct up_atomic##bits *_atomic, type _value)                        \
	{                                                                                                              \
		return __atomic_fetch_add(&_atomic->_value, _value, __ATOMIC_SEQ_CST);                                 \
	}                                                                                                              \
	static __inline__ bool up_compare_exchange##bits(struct up_atomic##bits *_atomic, type *_expected, type _value) \
	{                                                                                                              \
		return __atomic_compare_exchange_n(&_atomic->_value, _expected, _value, false, __ATOMIC_SEQ_CST,       \
						   __ATOMIC_SEQ_CST);                                                  \
	}

#endif

#define JUMPLABEL_UP_ATOMIC_(bits, type, letter)                                                                       \
	struct up_atomic##bits {                                                                                       \
		type _value;                                                                                           \
	} __attribute__((__aligned__(bits / 8)));                                                                      \
	static __inline__ type up_load##bits(const struct up_atomic##bits *_atomic)                                    \
	{                                                                                                              \
		return __atomic_load_n(&_atomic->_value, __ATOMIC_ACQUIRE);                                            \
	}                                                                                                              \
	JUMPLABEL_UP_OPERATION_(bits, type, up_add, "add", __atomic_fetch_add, letter)                                 \
	JUMPLABEL_UP_OPERATION_(bits, type, up_sub, "sub", __atomic_fetch_sub, letter)                                 \
	JUMPLABEL_UP_OPERATION_(bits, type, up_and, "and", __atomic_fetch_and, letter)                                 \
	JUMPLABEL_UP_OPERATION_(bits, type, up_or, "or", __atomic_fetch_or, letter)                                    \
	JUMPLABEL_UP_FETCH_ADD_(bits, type, letter)                                                                    \
	/* A loop of compare-and-exchange, because xchg locks even without a prefix. */                                \
	static __inline__ type up_swap##bits(struct up_atomic##bits *_atomic, type _value)                             \
	{                                                                                                              \
		type _found = up_load##bits(_atomic);                                                                  \
		while (!up_compare_exchange##bits(_atomic, &_found, _value)) {                                         \
		}                                                                                                      \
		return _found;                                                                                         \
	}                                                                                                              \
	static __inline__ void up_store##bits(struct up_atomic##bits *_atomic, type _value)                            \
	{                                                                                                              \
		up_swap##bits(_atomic, _value);                                                                        \
	}

JUMPLABEL_UP_ATOMIC_(32, uint32_t, "l")
#ifndef __i386__
JUMPLABEL_UP_ATOMIC_(64, uint64_t, "q")
#endif

JUMPLABEL_C_END_

#endif
