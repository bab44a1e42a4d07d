/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Alternatives: instructions that are replaced by others if the processor has a feature, once, when the program starts. Only on x86-64; elsewhere,
 * and with JUMPLABEL_FALLBACK, the old instructions stay.
 *
 *     asm(ALTERNATIVE("bsrl %1, %0\n\txorl $31, %0", "lzcntl %1, %0", X86_FEATURE_ABM) : "=r"(zeros) : "r"(number) : "cc");
 *
 * The processor executes the old instructions until jumplabel_alternatives_apply() is called. Both texts must do the same with the same operands. An
 * asm statement can have one alternative. New instructions of more than 7 bytes are placed elsewhere, and reached by a jump. The text may contain
 * calls and symbols. A jump inside the text (jmp 1f) whose length the assembler chooses is an error with clang. A short jump out of the text is
 * refused when it is applied.
 */
#ifndef JUMPLABEL_ALTERNATIVE_H
#define JUMPLABEL_ALTERNATIVE_H

#include "jump_label.h"

JUMPLABEL_C_BEGIN_

/* Puts in place the instructions for this processor's features, in all objects, all or nothing. Call it before the first thread starts, and again
   after dlopen(). Returns 0, or an error as jumplabel_enable() does. -EAGAIN: there are other threads, which may be between two of the
   instructions. */
int jumplabel_alternatives_apply(void);
/* True if this processor has the feature, and the system saves its registers. The name is rustc's, or Linux's in small letters ("avx2", "erms"). */
bool jumplabel_alternatives_has(const char *_feature);

JUMPLABEL_C_END_

/* The names are Linux's, the numbers are not. */
#define X86_FEATURE_XMM3 1
#define X86_FEATURE_PCLMULQDQ 2
#define X86_FEATURE_SSSE3 3
#define X86_FEATURE_FMA 4
#define X86_FEATURE_CX16 5
#define X86_FEATURE_XMM4_1 6
#define X86_FEATURE_XMM4_2 7
#define X86_FEATURE_MOVBE 8
#define X86_FEATURE_POPCNT 9
#define X86_FEATURE_AES 10
#define X86_FEATURE_AVX 11
#define X86_FEATURE_F16C 12
#define X86_FEATURE_RDRAND 13
#define X86_FEATURE_FSGSBASE 14
#define X86_FEATURE_BMI1 15
#define X86_FEATURE_AVX2 16
#define X86_FEATURE_BMI2 17
#define X86_FEATURE_ERMS 18
#define X86_FEATURE_AVX512F 19
#define X86_FEATURE_AVX512DQ 20
#define X86_FEATURE_RDSEED 21
#define X86_FEATURE_ADX 22
#define X86_FEATURE_CLFLUSHOPT 23
#define X86_FEATURE_CLWB 24
#define X86_FEATURE_AVX512CD 25
#define X86_FEATURE_SHA_NI 26
#define X86_FEATURE_AVX512BW 27
#define X86_FEATURE_AVX512VL 28
#define X86_FEATURE_GFNI 29
#define X86_FEATURE_VAES 30
#define X86_FEATURE_VPCLMULQDQ 31
#define X86_FEATURE_RDPID 32
#define X86_FEATURE_MOVDIRI 33
#define X86_FEATURE_MOVDIR64B 34
#define X86_FEATURE_FSRM 35
#define X86_FEATURE_SERIALIZE 36
#define X86_FEATURE_ABM 37
#define X86_FEATURE_3DNOWPREFETCH 38
#define X86_FEATURE_RDTSCP 39

#if defined(__x86_64__) && defined(__ELF__) && !defined(__ILP32__) && !defined(JUMPLABEL_FALLBACK)

/*
 * Emits the site and its entry. After the function come the new instructions with a jump back, a copy of the old ones, and the arms, in the format of
 * an operation in place (docs/table-format.md). The size is computed without conditions, because to an assembler, true is -1.
 */
#define ALTERNATIVE(old_instructions, new_instructions, feature)							\
	JUMPLABEL_ALTERNATIVES_KEY_											\
	".subsection 1\n"												\
	"8840:\n" new_instructions "\n"										\
	"8841: .byte 0xe9\n"												\
	".long 8803f - . - 4\n"											\
	".previous\n"													\
	JUMPLABEL_OP_PREFIX_ JUMPLABEL_HERE_ ":\n"									\
	"8802:\n" old_instructions "\n8806:\n"										\
	".set .Ljump_old_%=, 8806b - 8802b\n"										\
	".set .Ljump_new_%=, 8841b - 8840b\n"										\
	".set .Ljump_most_%=, .Ljump_old_%= + ((.Ljump_new_%= > .Ljump_old_%=) & (.Ljump_new_%= - .Ljump_old_%=))\n"	\
	".set .Ljump_least_%=, .Ljump_most_%= + ((.Ljump_most_%= < 4) & (4 - .Ljump_most_%=))\n"			\
	".set .Ljump_far_%=, .Ljump_least_%= > 7\n"									\
	".set .Ljump_size_%=, .Ljump_least_%= + (.Ljump_far_%= & (5 - .Ljump_least_%=))\n"				\
	".set .Ljump_pad_%=, (.Ljump_size_%= > .Ljump_old_%=) & (.Ljump_size_%= - .Ljump_old_%=)\n"			\
	".org 8806b + .Ljump_pad_%=, 0x90\n"										\
	"8803:\n"													\
	/* A copy of the old instructions, and the arms. */								\
	".subsection 1\n"												\
	"8807:\n" old_instructions "\n8809: .org 8809b + .Ljump_pad_%=, 0x90\n"					\
	"8808:\n"													\
	".previous\n"													\
	".subsection 2\n"												\
	".balign 4\n"													\
	"8804: .long 2\n"												\
	".long " JUMPLABEL_EXPANDED_(feature) " | (8841b - 8840b) << 8, 8840b - .\n"					\
	".long (8808b - 8807b) << 8, 8807b - .\n"									\
	".previous\n"													\
	".reloc " JUMPLABEL_HERE_ ", BFD_RELOC_NONE, 8805f\n"								\
	".pushsection " JUMPLABEL_TABLE_ "\n"										\
	".balign 4\n"													\
	"8805: .long " JUMPLABEL_HERE_ " - .\n"									\
	".long 8804b - .\n"												\
	".long __jumplabel_alternatives - .\n"										\
	".long 20 | .Ljump_size_%= << 8 | (.Ljump_far_%= & 8) << 8" JUMPLABEL_META_PREFIXED_ "\n"			\
	".popsection\n"

/* The one key to which all alternatives of the object belong. */
#define JUMPLABEL_ALTERNATIVES_KEY_											\
	".ifndef .Ljumplabel_alternatives\n"										\
	".set .Ljumplabel_alternatives, 1\n"										\
	JUMPLABEL_OBJECT_												\
	".pushsection .data.__jumplabel_alternatives, \"awG\", \"progbits\", __jumplabel_alternatives, comdat\n"	\
	".balign 8\n"													\
	".weak __jumplabel_alternatives\n"										\
	".hidden __jumplabel_alternatives\n"										\
	".type __jumplabel_alternatives, STT_OBJECT\n"									\
	".size __jumplabel_alternatives, 8\n"										\
	"__jumplabel_alternatives:\n"											\
	".long 0, 0\n"													\
	".popsection\n"												\
	".endif\n"

#define JUMPLABEL_EXPANDED_(number) JUMPLABEL_EXPANDED__(number)
#define JUMPLABEL_EXPANDED__(number) #number

#else

#define ALTERNATIVE(old_instructions, new_instructions, feature) old_instructions "\n"

#endif

#endif
