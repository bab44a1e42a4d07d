/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SDT notes of tracepoints, for bpftrace, perf and gdb. <jumplabel/tracepoint.h> includes this. docs/usdt.md says what tracers see.
 *
 *     jumplabel_usdt_watch();          in main(): from now on a tracepoint is on while a tracer is attached to it
 *     jumplabel_usdt_look();           does this once, without a thread
 *
 *     #undef TRACE_SYSTEM              as in Linux: the provider of the tracepoints that are defined below; by default jumplabel
 *     #define TRACE_SYSTEM net
 *
 *     DEFINE_TRACE(packet, ...)        net:packet, a note for a nop in the function that calls all probes
 *
 *     tracer ──► semaphore ──► look ──► key on ──► trace_packet() ──► static call ──► nop ──► tracer, and then each probe
 *
 * Tracers see the first 12 arguments, by number. Integers, bool, enumerations and pointers are shown as they are; for all others (floating point,
 * structures, classes, references to them), the address is shown. With -DJUMPLABEL_NO_USDT there are no notes. Only x86-64, aarch64 and riscv64 have
 * notes.
 */
#ifndef JUMPLABEL_USDT_H
#define JUMPLABEL_USDT_H

#include "static_call.h"

JUMPLABEL_C_BEGIN_

/* Starts a thread that looks at the semaphores of all tracepoints ten times a second, until the process ends. Returns 0, or -ENOMEM. A second call
   does nothing. A child of fork() does not have this thread. Must not be called in a signal handler. */
int jumplabel_usdt_watch(void);
/* Looks at the semaphores once: adds the library's probe to each tracepoint that now has a tracer, and removes it from those that have none any more.
   Returns the number of traced tracepoints; or a negative error of <jumplabel.h>, for example if a flip was refused: then the next look tries again.
   Must not be called in a signal handler. */
long jumplabel_usdt_look(void);

JUMPLABEL_C_END_

#ifndef TRACE_SYSTEM
#define TRACE_SYSTEM jumplabel
#endif

/* The parts of a tracepoint. The library has the same structure, `Description`. */
struct jumplabel_usdt_ {
	unsigned short *_semaphore;
	struct static_key_false *_key;
	struct static_call_key *_call;
	void **_probes;
};

#if !defined(JUMPLABEL_NO_USDT) && !defined(JUMPLABEL_FALLBACK)
#include "note.h"
#ifdef JUMPLABEL_NOTE_LONG_NOP_
#define JUMPLABEL_USDT_NOP_ JUMPLABEL_NOTE_LONG_NOP_
#endif
#endif

#ifndef JUMPLABEL_USDT_NOP_

#define JUMPLABEL_USDT_DEFINE_(name)
#define JUMPLABEL_USDT_EMIT_(name, data_args) ((void)0)
#define JUMPLABEL_USDT_SHAPE_ 0
#define JUMPLABEL_USDT_WORD_ "0"
#define JUMPLABEL_USDT_DESCRIBED_(name)

#else

/*
 * Properties of an argument's type. The first: whether the note shows the argument itself; if not, it shows the argument's address. The second: the
 * size in bytes of what the note shows. It is negative if that is a signed integer.
 */
#ifdef __cplusplus
extern "C++" {
template <class _type, bool _is_word> struct jumplabel_usdt_sized_ {
	enum { _is = 0, _size = 8 };
};
template <class _type> struct jumplabel_usdt_sized_<_type, true> {
	enum { _is = 1, _size = static_cast<_type>(-1) < static_cast<_type>(1) ? -static_cast<int>(sizeof(_type)) : static_cast<int>(sizeof(_type)) };
};
template <class _type> struct jumplabel_usdt_type_ : jumplabel_usdt_sized_<_type, __is_enum(_type)> {};
template <class _type> struct jumplabel_usdt_type_<_type *> {
	enum { _is = 1, _size = 8 };
};
template <class _type> struct jumplabel_usdt_type_<const _type> : jumplabel_usdt_type_<_type> {};
template <class _type> struct jumplabel_usdt_type_<volatile _type> : jumplabel_usdt_type_<_type> {};
template <class _type> struct jumplabel_usdt_type_<const volatile _type> : jumplabel_usdt_type_<_type> {};
template <class _type> struct jumplabel_usdt_type_<_type &> : jumplabel_usdt_type_<_type> {};
template <class _type> struct jumplabel_usdt_type_<_type &&> : jumplabel_usdt_type_<_type> {};
#define JUMPLABEL_USDT_INTEGER_(type) template <> struct jumplabel_usdt_type_<type> : jumplabel_usdt_sized_<type, true> {};
JUMPLABEL_USDT_INTEGER_(bool)
JUMPLABEL_USDT_INTEGER_(char)
JUMPLABEL_USDT_INTEGER_(signed char)
JUMPLABEL_USDT_INTEGER_(unsigned char)
JUMPLABEL_USDT_INTEGER_(__typeof__(L'x'))
JUMPLABEL_USDT_INTEGER_(__typeof__(u'x'))
JUMPLABEL_USDT_INTEGER_(__typeof__(U'x'))
JUMPLABEL_USDT_INTEGER_(short)
JUMPLABEL_USDT_INTEGER_(unsigned short)
JUMPLABEL_USDT_INTEGER_(int)
JUMPLABEL_USDT_INTEGER_(unsigned int)
JUMPLABEL_USDT_INTEGER_(long)
JUMPLABEL_USDT_INTEGER_(unsigned long)
JUMPLABEL_USDT_INTEGER_(long long)
JUMPLABEL_USDT_INTEGER_(unsigned long long)
template <bool _is_word> struct jumplabel_usdt_value_ {
	template <class _type> static __inline__ __attribute__((__always_inline__)) _type _of(_type &_x)
	{
		return _x;
	}
};
template <> struct jumplabel_usdt_value_<false> {
	template <class _type> static __inline__ __attribute__((__always_inline__)) _type *_of(_type &_x)
	{
		return __builtin_addressof(_x);
	}
};
}
#define JUMPLABEL_USDT_SIZE_(x) (0 + jumplabel_usdt_type_<__typeof__(x)>::_size)
#define JUMPLABEL_USDT_VALUE_(x) (jumplabel_usdt_value_<jumplabel_usdt_type_<__typeof__(x)>::_is>::_of(x))
#else
/* Classes 1 to 4 are integers, characters, enumerations and bool; 5 is pointers. */
#define JUMPLABEL_USDT_IS_(x, last) (__builtin_classify_type(x) <= (last) && sizeof(x) <= 8)
#define JUMPLABEL_USDT_SIGN_(x) ((__typeof__(__builtin_choose_expr(JUMPLABEL_USDT_IS_(x, 4), x, 0u)))-1 < 1 ? -1 : 1)
#define JUMPLABEL_USDT_SIZE_(x) (JUMPLABEL_USDT_IS_(x, 5) ? JUMPLABEL_USDT_SIGN_(x) * (int)sizeof(x) : 8)
#define JUMPLABEL_USDT_VALUE_(x) __builtin_choose_expr(JUMPLABEL_USDT_IS_(x, 5), x, &(x))
#endif

/* Chooses the text of the note and the operands of the assembler by the number of arguments, without the probe's data. */
#define JUMPLABEL_USDT_BY_NUMBER_(what, ...)                                                                                           \
	JUMPLABEL_USDT_CHOSEN_(__VA_ARGS__, what##12_, what##12_, what##12_, what##12_, what##12_, what##12_, what##11_, what##10_, what##9_,   \
			       what##8_, what##7_, what##6_, what##5_, what##4_, what##3_, what##2_, what##1_, what##0_, 0)(__VA_ARGS__, 0)
#define JUMPLABEL_USDT_CHOSEN_(_d, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, _m, _n, _o, _p, _q, _r, _chosen, ...) _chosen

#define JUMPLABEL_USDT_PLACE_(number) "%c[_size" #number "]@%[_value" #number "]"
#define JUMPLABEL_USDT_TEXT0_(...) ""
#define JUMPLABEL_USDT_TEXT1_(...) JUMPLABEL_USDT_PLACE_(1)
#define JUMPLABEL_USDT_TEXT2_(...) JUMPLABEL_USDT_TEXT1_() " " JUMPLABEL_USDT_PLACE_(2)
#define JUMPLABEL_USDT_TEXT3_(...) JUMPLABEL_USDT_TEXT2_() " " JUMPLABEL_USDT_PLACE_(3)
#define JUMPLABEL_USDT_TEXT4_(...) JUMPLABEL_USDT_TEXT3_() " " JUMPLABEL_USDT_PLACE_(4)
#define JUMPLABEL_USDT_TEXT5_(...) JUMPLABEL_USDT_TEXT4_() " " JUMPLABEL_USDT_PLACE_(5)
#define JUMPLABEL_USDT_TEXT6_(...) JUMPLABEL_USDT_TEXT5_() " " JUMPLABEL_USDT_PLACE_(6)
#define JUMPLABEL_USDT_TEXT7_(...) JUMPLABEL_USDT_TEXT6_() " " JUMPLABEL_USDT_PLACE_(7)
#define JUMPLABEL_USDT_TEXT8_(...) JUMPLABEL_USDT_TEXT7_() " " JUMPLABEL_USDT_PLACE_(8)
#define JUMPLABEL_USDT_TEXT9_(...) JUMPLABEL_USDT_TEXT8_() " " JUMPLABEL_USDT_PLACE_(9)
#define JUMPLABEL_USDT_TEXT10_(...) JUMPLABEL_USDT_TEXT9_() " " JUMPLABEL_USDT_PLACE_(10)
#define JUMPLABEL_USDT_TEXT11_(...) JUMPLABEL_USDT_TEXT10_() " " JUMPLABEL_USDT_PLACE_(11)
#define JUMPLABEL_USDT_TEXT12_(...) JUMPLABEL_USDT_TEXT11_() " " JUMPLABEL_USDT_PLACE_(12)

#define JUMPLABEL_USDT_OPERAND_(number, x)                                                                                             \
	, [_size##number] "n"(JUMPLABEL_USDT_SIZE_(x)), [_value##number] JUMPLABEL_NOTE_CONSTRAINT_(JUMPLABEL_USDT_VALUE_(x))
#define JUMPLABEL_USDT_LIST0_(...)
#define JUMPLABEL_USDT_LIST1_(_d, _a, ...) JUMPLABEL_USDT_OPERAND_(1, _a)
#define JUMPLABEL_USDT_LIST2_(_d, _a, _b, ...) JUMPLABEL_USDT_LIST1_(_d, _a, 0) JUMPLABEL_USDT_OPERAND_(2, _b)
#define JUMPLABEL_USDT_LIST3_(_d, _a, _b, _c, ...) JUMPLABEL_USDT_LIST2_(_d, _a, _b, 0) JUMPLABEL_USDT_OPERAND_(3, _c)
#define JUMPLABEL_USDT_LIST4_(_d, _a, _b, _c, _e, ...) JUMPLABEL_USDT_LIST3_(_d, _a, _b, _c, 0) JUMPLABEL_USDT_OPERAND_(4, _e)
#define JUMPLABEL_USDT_LIST5_(_d, _a, _b, _c, _e, _f, ...)                                                                             \
	JUMPLABEL_USDT_LIST4_(_d, _a, _b, _c, _e, 0) JUMPLABEL_USDT_OPERAND_(5, _f)
#define JUMPLABEL_USDT_LIST6_(_d, _a, _b, _c, _e, _f, _g, ...)                                                                         \
	JUMPLABEL_USDT_LIST5_(_d, _a, _b, _c, _e, _f, 0) JUMPLABEL_USDT_OPERAND_(6, _g)
#define JUMPLABEL_USDT_LIST7_(_d, _a, _b, _c, _e, _f, _g, _h, ...)                                                                     \
	JUMPLABEL_USDT_LIST6_(_d, _a, _b, _c, _e, _f, _g, 0) JUMPLABEL_USDT_OPERAND_(7, _h)
#define JUMPLABEL_USDT_LIST8_(_d, _a, _b, _c, _e, _f, _g, _h, _i, ...)                                                                 \
	JUMPLABEL_USDT_LIST7_(_d, _a, _b, _c, _e, _f, _g, _h, 0) JUMPLABEL_USDT_OPERAND_(8, _i)
#define JUMPLABEL_USDT_LIST9_(_d, _a, _b, _c, _e, _f, _g, _h, _i, _j, ...)                                                             \
	JUMPLABEL_USDT_LIST8_(_d, _a, _b, _c, _e, _f, _g, _h, _i, 0) JUMPLABEL_USDT_OPERAND_(9, _j)
#define JUMPLABEL_USDT_LIST10_(_d, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, ...)                                                        \
	JUMPLABEL_USDT_LIST9_(_d, _a, _b, _c, _e, _f, _g, _h, _i, _j, 0) JUMPLABEL_USDT_OPERAND_(10, _k)
#define JUMPLABEL_USDT_LIST11_(_d, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, ...)                                                    \
	JUMPLABEL_USDT_LIST10_(_d, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, 0) JUMPLABEL_USDT_OPERAND_(11, _l)
#define JUMPLABEL_USDT_LIST12_(_d, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, _m, ...)                                                \
	JUMPLABEL_USDT_LIST11_(_d, _a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, 0) JUMPLABEL_USDT_OPERAND_(12, _m)

/* The nop and its note, which is tied to the function. The relocation makes functions with the same arguments differ, so that a linker does not fold
   them into one. */
#define JUMPLABEL_USDT_ASM_(provider, name, places)                                                                                    \
	JUMPLABEL_NOTE_(JUMPLABEL_USDT_NOP_ ";.reloc 1b,BFD_RELOC_NONE," JUMPLABEL_SYMBOL_("_semaphore"),                              \
			JUMPLABEL_SYMBOL_("_semaphore"), provider, name, ".ascii \"" places "\"\n")
#define JUMPLABEL_USDT_STRING_(x) #x
#define JUMPLABEL_USDT_TEXT_OF_(x) JUMPLABEL_USDT_STRING_(x)

/*
 * Defines the semaphore, and the function that describes a tracepoint. The nop is at the beginning of the function that calls all probes. It must not
 * be in a function that calls nothing: there, compilers keep variables below the stack pointer, and a kernel from 6.18 on (x86-64) turns the nop into
 * a call, which writes there.
 */
#define JUMPLABEL_USDT_DEFINE_(name)													\
	static unsigned short __tracesema_##name __attribute__((__section__(".probes"), __used__)) = 0;					\
	__attribute__((__cold__, __noinline__)) static void __tracedesc_##name(JUMPLABEL_STRUCT_ jumplabel_usdt_ *_usdt)		\
	{																\
		_usdt->_semaphore = &__tracesema_##name;										\
		_usdt->_key = &__tracepoint_##name.key;											\
		_usdt->_call = JUMPLABEL_CALL_(tp_func_##name)().key;									\
		_usdt->_probes = &__tracepoint_##name._list;										\
	}
#define JUMPLABEL_USDT_EMIT_(name, data_args)												\
	__asm__ __volatile__(JUMPLABEL_USDT_ASM_(JUMPLABEL_USDT_TEXT_OF_(TRACE_SYSTEM), #name,						\
						 JUMPLABEL_USDT_BY_NUMBER_(JUMPLABEL_USDT_TEXT, data_args))				\
			     :														\
			     : [_semaphore] JUMPLABEL_KEY_CONSTRAINT_(&__tracesema_##name)						\
				       JUMPLABEL_USDT_BY_NUMBER_(JUMPLABEL_USDT_LIST, data_args)					\
			     : "memory")
#define JUMPLABEL_USDT_SHAPE_ 16
#define JUMPLABEL_USDT_WORD_ JUMPLABEL_SYMBOL_("_described") " - ."
#define JUMPLABEL_USDT_DESCRIBED_(name) , [_described] JUMPLABEL_KEY_CONSTRAINT_(&__tracedesc_##name)

#endif

#endif
