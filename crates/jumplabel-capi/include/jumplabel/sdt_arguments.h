/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The arguments of a probe: their description in the note, and the operands of the assembler. <jumplabel/sdt.h> includes this.
 */
#ifndef JUMPLABEL_SDT_ARGUMENTS_H
#define JUMPLABEL_SDT_ARGUMENTS_H

#include "note.h"

#ifndef STAP_SDT_ARG_CONSTRAINT
#define JUMPLABEL_SDT_CONSTRAINT_ JUMPLABEL_NOTE_CONSTRAINT_
#else
#define JUMPLABEL_SDT_CONSTRAINT_ JUMPLABEL_SDT_STRING_(STAP_SDT_ARG_CONSTRAINT)
#endif
#define JUMPLABEL_SDT_STRING_(x) JUMPLABEL_SDT_STRING_OF_(x)
#define JUMPLABEL_SDT_STRING_OF_(x) #x

/* In a note, "-4@" stands for a signed number of 4 bytes, and "8f@" for one of floating point. Enumerations are treated as by <sys/sdt.h>: in C like
   the type that the compiler chose, in C++ as unsigned.

   An argument has the type that a function's parameter would get: arrays and functions become pointers, and const and volatile are dropped. */
#ifdef __cplusplus
extern "C++" {
/* Chosen by the address of an object of the type: -1 for signed integers, otherwise 1. */
constexpr int jumplabel_sdt_sign_(...)
{
	return 1;
}
constexpr int jumplabel_sdt_sign_(char *)
{
	return static_cast<char>(255) < 0 ? -1 : 1;
}
constexpr int jumplabel_sdt_sign_(decltype(L' ') *)
{
	return static_cast<decltype(L' ')>(-1) < 0 ? -1 : 1;
}
#define JUMPLABEL_SDT_SIGNED_(type)                                                                                                    \
	constexpr int jumplabel_sdt_sign_(type *)                                                                                      \
	{                                                                                                                              \
		return -1;                                                                                                             \
	}
JUMPLABEL_SDT_SIGNED_(signed char)
JUMPLABEL_SDT_SIGNED_(short)
JUMPLABEL_SDT_SIGNED_(int)
JUMPLABEL_SDT_SIGNED_(long)
JUMPLABEL_SDT_SIGNED_(long long)
/* The type of a function's parameter has these conversions done. */
template <class _function> struct jumplabel_sdt_passed_;
template <class _type> struct jumplabel_sdt_passed_<void(_type)> {
	static constexpr int _size = jumplabel_sdt_sign_(static_cast<_type *>(nullptr)) * static_cast<int>(sizeof(_type));
};
template <class _type> struct jumplabel_sdt_argument_ : jumplabel_sdt_passed_<void(_type)> {};
}
#define JUMPLABEL_SDT_SIZE_(x) jumplabel_sdt_argument_<__typeof__(x)>::_size
#else
/* In C, the right side of a comma has the converted type. */
#define JUMPLABEL_SDT_SIZE_(x) (JUMPLABEL_SDT_SIGN_(x) * (int)sizeof(__typeof__(((void)0, (x)))))
#define JUMPLABEL_SDT_SIGN_(x)                                                                                                         \
	_Generic(((void)0, (x)), char: (char)255 < 0 ? -1 : 1, signed char: -1, short: -1, int: -1, long: -1,                          \
		 long long: -1 JUMPLABEL_SDT_WIDEST_, default: 1)
#ifdef __SIZEOF_INT128__
#define JUMPLABEL_SDT_WIDEST_ , __int128: -1
#else
#define JUMPLABEL_SDT_WIDEST_
#endif
#endif

/* The size and the kind are one operand, because gcc allows only 30: 100 is added for floating point. */
#define JUMPLABEL_SDT_OPERAND_(number, x)                                                                                              \
	[_size##number] "n"(JUMPLABEL_SDT_SIZE_(x) + 100 * (__builtin_classify_type(x) == 8)), [_value##number] JUMPLABEL_SDT_CONSTRAINT_(x)
#define JUMPLABEL_SDT_PLACE_(number)                                                                                                   \
	".if %c[_size" #number "]==104;.ascii \"4f\";.elseif %c[_size" #number "]==108;.ascii \"8f\";"                                 \
	".elseif %c[_size" #number "]==116;.ascii \"16f\";.else;.ascii \"%c[_size" #number "]\";.endif\n"                              \
	".ascii \"@%[_value" #number "]\"\n"

/* For each number of arguments: the text of the note, and the operands of the assembler. */
#define JUMPLABEL_SDT_PLACES_0_ ""
#define JUMPLABEL_SDT_PLACES_1_ JUMPLABEL_SDT_PLACE_(1)
#define JUMPLABEL_SDT_PLACES_2_ JUMPLABEL_SDT_PLACES_1_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(2)
#define JUMPLABEL_SDT_PLACES_3_ JUMPLABEL_SDT_PLACES_2_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(3)
#define JUMPLABEL_SDT_PLACES_4_ JUMPLABEL_SDT_PLACES_3_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(4)
#define JUMPLABEL_SDT_PLACES_5_ JUMPLABEL_SDT_PLACES_4_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(5)
#define JUMPLABEL_SDT_PLACES_6_ JUMPLABEL_SDT_PLACES_5_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(6)
#define JUMPLABEL_SDT_PLACES_7_ JUMPLABEL_SDT_PLACES_6_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(7)
#define JUMPLABEL_SDT_PLACES_8_ JUMPLABEL_SDT_PLACES_7_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(8)
#define JUMPLABEL_SDT_PLACES_9_ JUMPLABEL_SDT_PLACES_8_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(9)
#define JUMPLABEL_SDT_PLACES_10_ JUMPLABEL_SDT_PLACES_9_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(10)
#define JUMPLABEL_SDT_PLACES_11_ JUMPLABEL_SDT_PLACES_10_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(11)
#define JUMPLABEL_SDT_PLACES_12_ JUMPLABEL_SDT_PLACES_11_ ".ascii \" \"\n" JUMPLABEL_SDT_PLACE_(12)
#define JUMPLABEL_SDT_OPERANDS_0_() [_none] "n"(0)
#define JUMPLABEL_SDT_OPERANDS_1_(_a) JUMPLABEL_SDT_OPERAND_(1, _a)
#define JUMPLABEL_SDT_OPERANDS_2_(_a, _b) JUMPLABEL_SDT_OPERANDS_1_(_a), JUMPLABEL_SDT_OPERAND_(2, _b)
#define JUMPLABEL_SDT_OPERANDS_3_(_a, _b, _c) JUMPLABEL_SDT_OPERANDS_2_(_a, _b), JUMPLABEL_SDT_OPERAND_(3, _c)
#define JUMPLABEL_SDT_OPERANDS_4_(_a, _b, _c, _e) JUMPLABEL_SDT_OPERANDS_3_(_a, _b, _c), JUMPLABEL_SDT_OPERAND_(4, _e)
#define JUMPLABEL_SDT_OPERANDS_5_(_a, _b, _c, _e, _f) JUMPLABEL_SDT_OPERANDS_4_(_a, _b, _c, _e), JUMPLABEL_SDT_OPERAND_(5, _f)
#define JUMPLABEL_SDT_OPERANDS_6_(_a, _b, _c, _e, _f, _g) JUMPLABEL_SDT_OPERANDS_5_(_a, _b, _c, _e, _f), JUMPLABEL_SDT_OPERAND_(6, _g)
#define JUMPLABEL_SDT_OPERANDS_7_(_a, _b, _c, _e, _f, _g, _h)                                                                          \
	JUMPLABEL_SDT_OPERANDS_6_(_a, _b, _c, _e, _f, _g), JUMPLABEL_SDT_OPERAND_(7, _h)
#define JUMPLABEL_SDT_OPERANDS_8_(_a, _b, _c, _e, _f, _g, _h, _i)                                                                      \
	JUMPLABEL_SDT_OPERANDS_7_(_a, _b, _c, _e, _f, _g, _h), JUMPLABEL_SDT_OPERAND_(8, _i)
#define JUMPLABEL_SDT_OPERANDS_9_(_a, _b, _c, _e, _f, _g, _h, _i, _j)                                                                  \
	JUMPLABEL_SDT_OPERANDS_8_(_a, _b, _c, _e, _f, _g, _h, _i), JUMPLABEL_SDT_OPERAND_(9, _j)
#define JUMPLABEL_SDT_OPERANDS_10_(_a, _b, _c, _e, _f, _g, _h, _i, _j, _k)                                                             \
	JUMPLABEL_SDT_OPERANDS_9_(_a, _b, _c, _e, _f, _g, _h, _i, _j), JUMPLABEL_SDT_OPERAND_(10, _k)
#define JUMPLABEL_SDT_OPERANDS_11_(_a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l)                                                         \
	JUMPLABEL_SDT_OPERANDS_10_(_a, _b, _c, _e, _f, _g, _h, _i, _j, _k), JUMPLABEL_SDT_OPERAND_(11, _l)
#define JUMPLABEL_SDT_OPERANDS_12_(_a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l, _m)                                                     \
	JUMPLABEL_SDT_OPERANDS_11_(_a, _b, _c, _e, _f, _g, _h, _i, _j, _k, _l), JUMPLABEL_SDT_OPERAND_(12, _m)

#endif
