/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Replaces <sys/sdt.h>, and makes each check of a probe, as headers of `dtrace -h` have them, one nop:
 *
 *     if (POSTGRESQL_QUERY__START_ENABLED())             a nop instead of a load, until a tracer raises the probe's semaphore
 *             POSTGRESQL_QUERY__START(text);             a nop and a note, as with <sys/sdt.h>
 *
 *     jumplabel_usdt_watch();                            in main(), as for tracepoints; or -DJUMPLABEL_SDT_WATCH
 *
 * The sources, the .d file and its header need no change. Compile with -I.../include/jumplabel/sdt, a directory with a sys/sdt.h that includes this
 * file, or with -include jumplabel/sdt.h. Link with -ljumplabel. docs/usdt.md says more.
 *
 *     tracer ──► semaphore ──► look ──► key of the semaphore ──► all checks ──► probe: nop ──► tracer
 *
 * Checks. `dtrace -h` writes a check as `__builtin_expect (PROVIDER_NAME_semaphore, 0)`. So __builtin_expect is a macro here. If its argument is a
 * plain name that ends in `_semaphore`, it is a check; otherwise the compiler's builtin. The macro cannot be used outside of functions in C, nor in
 * decltype and the like in C++.
 *
 * Keys. Each semaphore that a check or a probe uses has one key per program or library, named `provider:name`. A look turns the key on if the
 * semaphore is above 0, and off otherwise. jumplabel_usdt_watch() looks ten times a second; without looks, the key stays off. A child of fork() must
 * call jumplabel_usdt_watch() itself. If an operator sets the key, it stays so until a tracer comes or goes.
 *
 * Costs: a check is a nop and 16 bytes of table. A key is 32 bytes; one that a probe uses also costs 40 bytes of constants, and its name. A look
 * costs a load for each key, and a flip for each tracer that has come or gone. If a flip is refused, the next look tries again.
 *
 * JUMPLABEL_SDT_LOADS          checks of `dtrace -h` load the semaphore, as with <sys/sdt.h>; __builtin_expect is not a macro
 * JUMPLABEL_SDT_WATCH          a constructor calls jumplabel_usdt_watch()
 * STAP_SDT_ARG_CONSTRAINT      as in <sys/sdt.h>
 *
 * This file is the system's <sys/sdt.h> with JUMPLABEL_FALLBACK, in C before C11, in C++ before C++17, in assembler, with compilers that have no
 * sites, and on processors other than x86-64, aarch64 and riscv64. A program may mix such files with others. STAP_PROBE_ASM exists only in such
 * files.
 */
#ifndef JUMPLABEL_SDT_H
#define JUMPLABEL_SDT_H

/* Because of -Wnested-externs. */
#pragma GCC system_header

#if defined(__ASSEMBLER__)
#elif defined(__cplusplus) ? __cplusplus >= 201703L : defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "jump_label.h"
#ifndef JUMPLABEL_FALLBACK
#include "note.h"
#endif
#endif

#ifndef JUMPLABEL_NOTE_NOP_

/* The system's <sys/sdt.h>. The file sdt/sys/sdt.h, if the compiler finds that first, includes the system's. */
#define JUMPLABEL_SDT_SYSTEM_
#include <sys/sdt.h>
#undef JUMPLABEL_SDT_SYSTEM_

#define JUMPLABEL_SDT_ENABLED(provider, name) (__builtin_expect(provider##_##name##_semaphore, 0) != 0)

#else

/* Keeps a later #include of the system's header from having an effect. */
#ifdef _SYS_SDT_H
#error "include <jumplabel/sdt.h> before <sys/sdt.h>, or in its place"
#endif
#define _SYS_SDT_H 1

JUMPLABEL_C_BEGIN_

/* See <jumplabel/usdt.h>. */
int jumplabel_usdt_watch(void);
long jumplabel_usdt_look(void);

#ifdef JUMPLABEL_SDT_WATCH
/* A program or library has one such function, which runs once for each file. */
__attribute__((__weak__, __visibility__("hidden"), __constructor__)) void jumplabel_sdt_start_(void);
__attribute__((__weak__, __visibility__("hidden"), __constructor__)) void jumplabel_sdt_start_(void)
{
	(void)jumplabel_usdt_watch();
}
#endif

JUMPLABEL_C_END_

#include "sdt_arguments.h"

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

/*
 * Emits the key of a semaphore, once in a program or library (a COMDAT group): 24 bytes like a tracepoint's, and a word that leads to the semaphore.
 * In the last 8 of these bytes the library notes whether it knows of a tracer. The semaphore is in the same program or library, as with <sys/sdt.h>.
 */
#define JUMPLABEL_SDT_KEY_(key, semaphore)                                                                                             \
	".ifndef " key "\n"                                                                                                            \
	".pushsection .data.jumplabel_sdt,\"awG\",\"progbits\"," key ",comdat\n"                                                       \
	".balign 8\n.weak " key "\n.hidden " key "\n.type " key ",STT_OBJECT\n"                                                       \
	key ":.long 0,0;.quad 0,0\n.hidden " semaphore "\n.long " semaphore "-.,0\n.size " key ",.-" key "\n.popsection\n.endif\n"

/* Emits the record from which the key is listed and followed (docs/table-format.md). Only a probe emits it, because a check cannot tell provider and
   name apart. It gives no place in the source, because a probe may be in many places. */
#define JUMPLABEL_SDT_RECORD_(key, name)                                                                                               \
	".ifndef .Lj_recorded_" key "\n.set .Lj_recorded_" key ",1\n"                                                                  \
	JUMPLABEL_RETAINED_("__jump_keys", "aG", ",\"progbits\"," key "_record,comdat")                                                \
	".balign 4;.long " key "-.,2f-.,0\n.popsection\n"                                                                             \
	".pushsection .rodata.jumplabel_sdt,\"aG\",\"progbits\"," key "_record,comdat\n"                                              \
	".balign 4;2:.long 0,0,1,32,0;.short 0,4f-3f,0,0;3:.ascii \"" name "\";4:\n.popsection\n.endif\n"

/* True if the last look found a tracer at the probe: a check of its key without the macro __builtin_expect. It is one nop, and can be used anywhere,
   signal handlers included. The semaphore must be defined (`dtrace -G`), and the program must have a probe of that name. */
#define JUMPLABEL_SDT_ENABLED(provider, name) JUMPLABEL_SDT_ENABLED_OF_(provider, name)
#define JUMPLABEL_SDT_ENABLED_OF_(provider, name) (JUMPLABEL_SDT_CHECK_AT_(__COUNTER__, #provider "_" #name "_semaphore") != 0)

/* Key and semaphore are declared by their names as strings, because the argument of __builtin_expect gives no other information. */
#define JUMPLABEL_SDT_CHECK_AT_(id, semaphore) JUMPLABEL_SDT_CHECK_(id, semaphore)
#define JUMPLABEL_SDT_CHECKED_(id, semaphore)                                                                                          \
	extern JUMPLABEL_STRUCT_ static_key_false jumplabel_sdt_key_##id##_ __asm__("jumplabel_sdt_" semaphore)                        \
		__attribute__((__visibility__("hidden")));                                                                             \
	extern unsigned short jumplabel_sdt_semaphore_##id##_ __asm__(semaphore) __attribute__((__visibility__("hidden")));            \
	__asm__ __volatile__ __inline__ goto(                                                                                          \
		JUMPLABEL_SDT_KEY_(JUMPLABEL_KEY_TEXT_, JUMPLABEL_SYMBOL_("_semaphore"))                                               \
		JUMPLABEL_SITE_TEXT_OF_("", JUMPLABEL_KEY_TEXT_)                                                                       \
		:                                                                                                                      \
		: [_key] JUMPLABEL_KEY_CONSTRAINT_(&jumplabel_sdt_key_##id##_),                                                        \
		  [_semaphore] JUMPLABEL_KEY_CONSTRAINT_(&jumplabel_sdt_semaphore_##id##_), [_number] "i"(0),                          \
		  JUMPLABEL_KEY_CONSTRAINT_(jumplabel_object_)                                                                         \
		: JUMPLABEL_CLOBBERS_                                                                                                  \
		: JUMPLABEL_JUMPED_)
#ifdef __clang__
#define JUMPLABEL_SDT_RARE_(check) (__builtin_expect_with_probability(check, 0, 0.99) != 0)
#else
/* The labels already tell gcc that this is unlikely. */
#define JUMPLABEL_SDT_RARE_(check) (check)
#endif
#ifdef __cplusplus
/* A function inside a function: gcc and clang emit no code for it unless it is called, and clang searches no structure for labels. */
#define JUMPLABEL_SDT_CHECK_(id, semaphore)                                                                                            \
	([]() __attribute__((__always_inline__)) -> bool {                                                                             \
		struct jumplabel_alone {                                                                                               \
			__attribute__((__always_inline__)) static __inline__ bool jumplabel_check()                                    \
			{                                                                                                              \
				JUMPLABEL_SDT_CHECKED_(id, semaphore);                                                                 \
				return false;                                                                                          \
				JUMPLABEL_AT_JUMPED_(return true);                                                                     \
			}                                                                                                              \
		};                                                                                                                     \
		return JUMPLABEL_SDT_RARE_(jumplabel_alone::jumplabel_check());                                                        \
	}())
extern "C++" {
template <bool _is> struct jumplabel_sdt_is_ {
	static constexpr bool _value = _is;
};
/* True for a name that ends in "_semaphore". */
constexpr bool jumplabel_sdt_is_name_(const char *_text, size_t _size)
{
	const char *_end = "_semaphore";
	bool _is = _size > 11;

	for (size_t _at = 0; _is && _at + 1 < _size; _at++) {
		char _one = _text[_at];
		_is = (_one >= 'a' && _one <= 'z') || (_one >= 'A' && _one <= 'Z') || (_one >= '0' && _one <= '9') || _one == '_' || _one == '$';
	}
	for (size_t _at = 0; _is && _at < 11; _at++)
		_is = _text[_size - 11 + _at] == _end[_at];
	return _is;
}
}
#else
#define JUMPLABEL_SDT_CHECK_(id, semaphore) JUMPLABEL_SDT_RARE_(JUMPLABEL_SDT_FOUND_(id, semaphore))
#define JUMPLABEL_SDT_FOUND_(id, semaphore)                                                                                            \
	__extension__({                                                                                                                \
		__label__ JUMPLABEL_JUMPED_;                                                                                           \
		bool jumplabel_result = false;                                                                                         \
		JUMPLABEL_SDT_CHECKED_(id, semaphore);                                                                                 \
		JUMPLABEL_AT_JUMPED_(jumplabel_result = true);                                                                         \
		jumplabel_result;                                                                                                      \
	})
#define JUMPLABEL_SDT_ENDS_(text) (!__builtin_strcmp(&(text)[sizeof(text) > 11 ? sizeof(text) - 11 : 0], "_semaphore"))
#ifdef __clang__
/* To clang, a pointer into a string is a constant only if it is the string's beginning or NULL. So it tests each sign for NULL. */
#define JUMPLABEL_SDT_LACKS_(text, sign) __builtin_constant_p(__builtin_strchr("_" text, sign))
#define JUMPLABEL_SDT_IS_NAME_(text)                                                                                                   \
	(JUMPLABEL_SDT_ENDS_(text) && JUMPLABEL_SDT_LACKS_(text, ' ') && JUMPLABEL_SDT_LACKS_(text, '.') &&                            \
	 JUMPLABEL_SDT_LACKS_(text, '>') && JUMPLABEL_SDT_LACKS_(text, '!') && JUMPLABEL_SDT_LACKS_(text, '*') &&                      \
	 JUMPLABEL_SDT_LACKS_(text, '&') && JUMPLABEL_SDT_LACKS_(text, '|') && JUMPLABEL_SDT_LACKS_(text, '=') &&                      \
	 JUMPLABEL_SDT_LACKS_(text, ')') && JUMPLABEL_SDT_LACKS_(text, '-') && JUMPLABEL_SDT_LACKS_(text, '+') &&                      \
	 JUMPLABEL_SDT_LACKS_(text, '<') && JUMPLABEL_SDT_LACKS_(text, '~') && JUMPLABEL_SDT_LACKS_(text, '/') &&                      \
	 JUMPLABEL_SDT_LACKS_(text, '%') && JUMPLABEL_SDT_LACKS_(text, '^') && JUMPLABEL_SDT_LACKS_(text, ':'))
#else
#define JUMPLABEL_SDT_IS_NAME_(text)                                                                                                   \
	(JUMPLABEL_SDT_ENDS_(text) && __builtin_strcspn(text, " .>!*&|=)-+<~/%^:") == sizeof(text) - 1)
#endif
#endif

#ifndef JUMPLABEL_SDT_LOADS
/* To a macro, `f<int, long>(x), 1` is three arguments. So everything after the first comma is passed on unchanged. */
#ifdef __cplusplus
#define __builtin_expect(x, ...)                                                                                                       \
	(jumplabel_sdt_is_<jumplabel_sdt_is_name_(#x, sizeof(#x))>::_value ? JUMPLABEL_SDT_CHECK_AT_(__COUNTER__, #x) :                \
									     __builtin_expect(x, __VA_ARGS__))
#else
#define __builtin_expect(x, ...)                                                                                                       \
	__builtin_choose_expr(JUMPLABEL_SDT_IS_NAME_(#x), JUMPLABEL_SDT_CHECK_AT_(__COUNTER__, #x), __builtin_expect(x, __VA_ARGS__))
#endif
#endif

/* ---- Probes ----------------------------------------------------------------------------------------------------- */

/* As in <sys/sdt.h>, probes have semaphores if _SDT_HAS_SEMAPHORES is defined, as 1 or as nothing. `dtrace -h` defines it. */
#define JUMPLABEL_SDT_CHOOSE_(has, yes, no) JUMPLABEL_SDT_CHOOSE_PROBE_(has, yes, no)
#define JUMPLABEL_SDT_CHOOSE_PROBE_(value, yes, no) JUMPLABEL_SECOND_OF_(JUMPLABEL_SDT_PROBE_##value yes, no, )
#define JUMPLABEL_SDT_PROBE_1 ,
#define JUMPLABEL_SDT_PROBE_ ,

#define JUMPLABEL_SDT_AT_(provider, name, number, arguments)                                                                           \
	do {                                                                                                                           \
		JUMPLABEL_SDT_CHOOSE_(_SDT_HAS_SEMAPHORES, JUMPLABEL_SDT_WITH_, JUMPLABEL_SDT_WITHOUT_)                                \
		(provider, name, number, arguments);                                                                                   \
	} while (0)
#define JUMPLABEL_SDT_WITHOUT_(provider, name, number, arguments)                                                                      \
	__asm__ __volatile__(JUMPLABEL_NOTE_(JUMPLABEL_NOTE_NOP_, "0", #provider, #name, JUMPLABEL_SDT_PLACES_##number##_)             \
			     :                                                                                                         \
			     : JUMPLABEL_SDT_OPERANDS_##number##_ arguments)
#define JUMPLABEL_SDT_WITH_(provider, name, number, arguments)                                                                         \
	__asm__ __volatile__(JUMPLABEL_SDT_KEY_("jumplabel_sdt_" #provider "_" #name "_semaphore", JUMPLABEL_SYMBOL_("_semaphore"))     \
			     JUMPLABEL_SDT_RECORD_("jumplabel_sdt_" #provider "_" #name "_semaphore", #provider ":" #name)             \
			     JUMPLABEL_NOTE_(JUMPLABEL_NOTE_NOP_, JUMPLABEL_SYMBOL_("_semaphore"), #provider, #name,                   \
					     JUMPLABEL_SDT_PLACES_##number##_)                                                         \
			     :                                                                                                         \
			     : JUMPLABEL_SDT_OPERANDS_##number##_ arguments,                                                           \
			       [_semaphore] JUMPLABEL_KEY_CONSTRAINT_(&provider##_##name##_semaphore),                                 \
			       JUMPLABEL_KEY_CONSTRAINT_(jumplabel_object_))

#define STAP_PROBE(provider, name) JUMPLABEL_SDT_AT_(provider, name, 0, ())
#define STAP_PROBE1(provider, name, _a) JUMPLABEL_SDT_AT_(provider, name, 1, (_a))
#define STAP_PROBE2(provider, name, _a, _b) JUMPLABEL_SDT_AT_(provider, name, 2, (_a, _b))
#define STAP_PROBE3(provider, name, _a, _b, _c) JUMPLABEL_SDT_AT_(provider, name, 3, (_a, _b, _c))
#define STAP_PROBE4(provider, name, _a, _b, _c, _e) JUMPLABEL_SDT_AT_(provider, name, 4, (_a, _b, _c, _e))
#define STAP_PROBE5(provider, name, _a, _b, _c, _e, _f) JUMPLABEL_SDT_AT_(provider, name, 5, (_a, _b, _c, _e, _f))
#define STAP_PROBE6(provider, name, _a, _b, _c, _e, _f, _g) JUMPLABEL_SDT_AT_(provider, name, 6, (_a, _b, _c, _e, _f, _g))
#define STAP_PROBE7(provider, name, _a, _b, _c, _e, _f, _g, _h) JUMPLABEL_SDT_AT_(provider, name, 7, (_a, _b, _c, _e, _f, _g, _h))
#define STAP_PROBE8(provider, name, _a, _b, _c, _e, _f, _g, _h, _i) JUMPLABEL_SDT_AT_(provider, name, 8, (_a, _b, _c, _e, _f, _g, _h, _i))
#define STAP_PROBE9(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j)                                                                \
	JUMPLABEL_SDT_AT_(provider, name, 9, (_a, _b, _c, _e, _f, _g, _h, _i, _j))
#define STAP_PROBE10(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k)                                                           \
	JUMPLABEL_SDT_AT_(provider, name, 10, (_a, _b, _c, _e, _f, _g, _h, _i, _j, _k))
#define STAP_PROBE11(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l)                                                       \
	JUMPLABEL_SDT_AT_(provider, name, 11, (_a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l))
#define STAP_PROBE12(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, _m)                                                   \
	JUMPLABEL_SDT_AT_(provider, name, 12, (_a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, _m))

#define DTRACE_PROBE(provider, name) STAP_PROBE(provider, name)
#define DTRACE_PROBE1(provider, name, _a) STAP_PROBE1(provider, name, _a)
#define DTRACE_PROBE2(provider, name, _a, _b) STAP_PROBE2(provider, name, _a, _b)
#define DTRACE_PROBE3(provider, name, _a, _b, _c) STAP_PROBE3(provider, name, _a, _b, _c)
#define DTRACE_PROBE4(provider, name, _a, _b, _c, _e) STAP_PROBE4(provider, name, _a, _b, _c, _e)
#define DTRACE_PROBE5(provider, name, _a, _b, _c, _e, _f) STAP_PROBE5(provider, name, _a, _b, _c, _e, _f)
#define DTRACE_PROBE6(provider, name, _a, _b, _c, _e, _f, _g) STAP_PROBE6(provider, name, _a, _b, _c, _e, _f, _g)
#define DTRACE_PROBE7(provider, name, _a, _b, _c, _e, _f, _g, _h) STAP_PROBE7(provider, name, _a, _b, _c, _e, _f, _g, _h)
#define DTRACE_PROBE8(provider, name, _a, _b, _c, _e, _f, _g, _h, _i) STAP_PROBE8(provider, name, _a, _b, _c, _e, _f, _g, _h, _i)
#define DTRACE_PROBE9(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j) STAP_PROBE9(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j)
#define DTRACE_PROBE10(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k)                                                         \
	STAP_PROBE10(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k)
#define DTRACE_PROBE11(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l)                                                     \
	STAP_PROBE11(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l)
#define DTRACE_PROBE12(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, _m)                                                 \
	STAP_PROBE12(provider, name, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, _m)

#ifdef SDT_USE_VARIADIC
#define STAP_PROBEV(provider, name, ...)                                                                                               \
	JUMPLABEL_SDT_NUMBERED_(provider, name, JUMPLABEL_SDT_NUMBER_(0, ##__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), ##__VA_ARGS__)
#define JUMPLABEL_SDT_NUMBER_(_n0, _n1, _n2, _n3, _n4, _n5, _n6, _n7, _n8, _n9, _n10, _n11, _n12, _number, ...) _number
#define JUMPLABEL_SDT_NUMBERED_(provider, name, number, ...) JUMPLABEL_SDT_AT_(provider, name, number, (__VA_ARGS__))
#endif

#endif

#endif
