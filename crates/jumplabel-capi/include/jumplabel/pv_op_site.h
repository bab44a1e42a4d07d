/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The text of an operation in place, on x86-64: its site, arms and stubs. <jumplabel/pv_ops.h> includes this. docs/table-format.md has the format. */
#ifndef JUMPLABEL_PV_OP_SITE_H
#define JUMPLABEL_PV_OP_SITE_H

#if !defined(__x86_64__) || !defined(__ELF__) || defined(__ILP32__) || defined(JUMPLABEL_FALLBACK)

#define JUMPLABEL_OP_IN_PLACE_(table, op, output, back, inputs, arguments, ...)

#else

/* The calls of functions that follow this text only check types: the compiler drops them. */
#define JUMPLABEL_OP_IN_PLACE_(table, op, output, back, inputs, arguments, ...)                                        \
	JUMPLABEL_OTHERS_(_SLOW_, , , __VA_ARGS__)                                                                     \
	__asm__ __volatile__ __inline__(                                                                               \
		JUMPLABEL_STUBS_ JUMPLABEL_SLOT_                                                                       \
		JUMPLABEL_ARM_OF_(_NATIVE_, op, , 0, JUMPLABEL_ONE_OF_(__VA_ARGS__))                                   \
		JUMPLABEL_OTHERS_(_TEXT_, back, arguments, __VA_ARGS__)                                                \
		: output                                                                                               \
		: [_key] JUMPLABEL_KEY_CONSTRAINT_(&(table)),                                                          \
		  [jumplabel_count] "i"(JUMPLABEL_MODES_(table) + 1),                                                  \
		  [jumplabel_meta] "i"(20 | JUMPLABEL_INDIRECT_ | JUMPLABEL_PREFIXED_),                                \
		  JUMPLABEL_KEY_CONSTRAINT_(JUMPLABEL_OBJECT_OF_TYPED_)                                                \
		  JUMPLABEL_ARGUMENTS_(JUMPLABEL_INPUT_, JUMPLABEL_UNWRAP_ inputs)                                     \
		  JUMPLABEL_OTHERS_(_OPERAND_, , , __VA_ARGS__)                                                        \
		: "memory", "cc");                                                                                     \
	if (0)

/* Rejects an arm that jumps to PV_SLOW_WAY but has no call: it would reach the call of another arm. clang notices this only with optimisation. */
#if !defined(__clang__) || defined(__OPTIMIZE__)
JUMPLABEL_EXTERN_C_ void jumplabel_no_slow_way_(void)
	__attribute__((__error__("an arm of an operation jumps to PV_SLOW_WAY, and is no PV_IN_PLACE_ELSE_CALL")));
#define JUMPLABEL_CLOSED_SLOW_(x, y, k, func, text)                                                                    \
	if (__builtin_strstr(text, PV_SLOW_WAY))                                                                       \
		jumplabel_no_slow_way_();
#else
#define JUMPLABEL_CLOSED_SLOW_(x, y, k, func, text)
#endif
#define JUMPLABEL_OPEN_SLOW_(x, y, k, func, text)
#define JUMPLABEL_BOTH_SLOW_(x, y, k, func, text)
#define JUMPLABEL_NOTHING_SLOW_(x, y, k, func, text)

#define JUMPLABEL_INPUT_(place, argument) , [argument] "r"(argument)
#define JUMPLABEL_CLOSED_OPERAND_(x, y, k, func, text)
#define JUMPLABEL_NOTHING_OPERAND_(x, y, k, func, text)
#define JUMPLABEL_OPEN_OPERAND_(x, y, k, func, text) , [jumplabel_open_##k] JUMPLABEL_KEY_CONSTRAINT_(func)
#define JUMPLABEL_BOTH_OPERAND_ JUMPLABEL_OPEN_OPERAND_
#define JUMPLABEL_RESULT_(name) JUMPLABEL_RESULT__(name)
#define JUMPLABEL_RESULT__(name) "{movq 8(%%rsp), %q[" #name "]|mov %q[" #name "], [rsp + 8]}\n"

/*
 * The common parts of stubs, once in a file.
 *
 * jumplabel_op_unwind emits the unwind information of the stub at labels 8811 to 8813 (DWARF 5, 6.4). To an unwinder, the stub is a function with an
 * empty frame that was called from the place after the site. The expression reads this place from the stub's last jump. `mask` stands for the stub's
 * alignment.
 */
#define JUMPLABEL_STUBS_                                                                                               \
	".ifndef .Ljump_op_stubs\n"                                                                                    \
	".set .Ljump_op_stubs, 1\n"                                                                                    \
	".macro jumplabel_op_unwind mask, rows:vararg\n"                                                               \
	".pushsection .eh_frame, \"a\", @unwind\n"                                                                     \
	"8820: .long 8822f - 8821f\n"                                                                                  \
	"8821: .long 0\n"                                                                                              \
	".byte 1\n"                                                                                                    \
	".asciz \"zR\"\n"                                                                                              \
	".byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 0\n"                                                                     \
	".p2align 3, 0\n"                                                                                              \
	"8822: .long 8824f - 8823f\n"                                                                                  \
	"8823: .long 8823b - 8820b\n"                                                                                  \
	".long 8811b - .\n"                                                                                            \
	".long 8813b - 8811b\n"                                                                                        \
	".byte 0\n"                                                                                                    \
	".byte 0x16, 16, 19, 0x80, 0, 0x09, \\mask, 0x1a, 0x23, 8812b - 8811b, 0x12, 0x94, 4, 8, 32\n"                 \
	".byte 0x24, 8, 32, 0x26, 0x22, 0x23, 4\n"                                                                     \
	"\\rows\n"                                                                                                     \
	".p2align 3, 0\n"                                                                                              \
	"8824:\n"                                                                                                      \
	".popsection\n"                                                                                                \
	".endm\n"                                                                                                      \
	/* lea -184(%rsp), %rsp, which steps over the red zone */                                                      \
	".macro jumplabel_op_open\n"                                                                                   \
	".subsection 1\n"                                                                                              \
	".p2align 7, 0xcc\n"                                                                                           \
	"8806:\n"                                                                                                      \
	"8811: .byte 0x48, 0x8d, 0xa4, 0x24, 0x48, 0xff, 0xff, 0xff\n"                                                 \
	"8814:\n"                                                                                                      \
	".endm\n"                                                                                                      \
	/* The call does not go through a PLT entry, because a lazy one writes registers. */                           \
	".macro jumplabel_op_call function\n"                                                                          \
	"{movq %%rax, (%%rsp)|mov [rsp], rax}\n"                                                                       \
	"{movq \\function@GOTPCREL(%%rip), %%rax|mov rax, [rip + \\function@GOTPCREL]}\n"                              \
	"{call *jumplabel_op_thunk_@GOTPCREL(%%rip)|call [rip + jumplabel_op_thunk_@GOTPCREL]}\n"                      \
	"{movq (%%rsp), %%rax|mov rax, [rsp]}\n"                                                                       \
	".endm\n"                                                                                                      \
	/* lea 184(%rsp), %rsp; jmp back */                                                                            \
	".macro jumplabel_op_close\n"                                                                                  \
	".byte 0x48, 0x8d, 0xa4, 0x24, 0xb8, 0, 0, 0\n"                                                                \
	"8815: .byte 0xe9\n"                                                                                           \
	"8812: .long 8803b - . - 4\n"                                                                                  \
	"8813: .org 8811b + 128, 0xcc\n"                                                                               \
	".previous\n"                                                                                                  \
	"jumplabel_op_unwind 0x80, .byte 0x40 + 8814b - 8811b, 0x0e, 0xb8, 1, 2, 8815b - 8814b, 0x0e, 0\n"             \
	".endm\n"                                                                                                      \
	".endif\n"

#define JUMPLABEL_TOO_SHORT_(op)                                                                                       \
	"jumplabel: the native instruction of the operation " op                                                       \
	" is shorter than 5 bytes: make it longer, by PV_DISP32 or a prefix"
#ifdef __clang__
/* Before version 19, clang's .if cannot compare distances. So the size of a .skip becomes negative, which is an error that shows this line: to an
   assembler, true is -1. */
#define JUMPLABEL_LONG_ENOUGH_(op) ".skip ((8803b - 8802b) < 5) # " JUMPLABEL_TOO_SHORT_(op) "\n"
#else
#define JUMPLABEL_LONG_ENOUGH_(op) ".if (8803b - 8802b) < 5\n.error \"" JUMPLABEL_TOO_SHORT_(op) "\"\n.endif\n"
#endif

/*
 * The site and its entry; after the function, a copy of the instruction, and the operation's name; the first of the arms (kind 5). The labels are
 * numbers, because a text may have labels of its own; a reference means the nearest label with its number.
 */
#define JUMPLABEL_CLOSED_NATIVE_(op, y, k, func, text)                                                                 \
	JUMPLABEL_OP_PREFIX_ JUMPLABEL_HERE_ ":\n8802:\n" text "\n8803:\n"                                             \
	JUMPLABEL_LONG_ENOUGH_(op)                                                                                     \
	".reloc " JUMPLABEL_HERE_ ", BFD_RELOC_NONE, 3f\n"                                                             \
	".pushsection " JUMPLABEL_TABLE_ "\n"                                                                          \
	".balign 4\n"                                                                                                  \
	"3:.long " JUMPLABEL_HERE_ " - .\n"                                                                            \
	".long 8804f - .\n"                                                                                            \
	".long " JUMPLABEL_KEY_WORD_ ", " JUMPLABEL_NUMBER_("jumplabel_meta") "\n"                                     \
	".popsection\n"                                                                                                \
	".subsection 1\n"                                                                                              \
	"8807:\n" text "\n8808:\n"                                                                                     \
	"8809: .ascii \"" op "\"\n8810:\n"                                                                             \
	".previous\n"                                                                                                  \
	".subsection 2\n"                                                                                              \
	".balign 4\n"                                                                                                  \
	"8804: .long " JUMPLABEL_NUMBER_("jumplabel_count") "\n"                                                       \
	".long (8808b - 8807b) << 8, 8807b - .\n"                                                                      \
	".long 255 | (8810b - 8809b) << 8, 8809b - .\n"                                                                \
	".previous\n"
#define JUMPLABEL_NOTHING_NATIVE_(op, y, k, func, text)                                                                \
	JUMPLABEL_CLOSED_NATIVE_(op, y, k, func, ".byte 0x0f, 0x1f, 0x44, 0, 0")
#define JUMPLABEL_OPEN_NATIVE_(op, y, k, func, text)                                                                   \
	".error \"jumplabel: the first arm of the operation " op " is the site itself: PV_IN_PLACE() or PV_NOTHING\"\n"
#define JUMPLABEL_BOTH_NATIVE_ JUMPLABEL_OPEN_NATIVE_

/* The stub of a backend that gives its instructions: at most 64 bytes. */
#define JUMPLABEL_CLOSED_TEXT_(back, arguments, k, func, text)                                                         \
	".subsection 1\n"                                                                                              \
	".p2align 6, 0xcc\n"                                                                                           \
	"8811:\n" text "\n"                                                                                            \
	".byte 0xe9\n"                                                                                                 \
	"8812: .long 8803b - . - 4\n"                                                                                  \
	"8813: .org 8811b + 64, 0xcc\n"                                                                                \
	".previous\n"                                                                                                  \
	"jumplabel_op_unwind 0xc0\n"                                                                                   \
	JUMPLABEL_ROW_(#k)

/* The stub of a backend that is called. Its label 8806 is PV_SLOW_WAY. */
#define JUMPLABEL_CALLED_TEXT_(back, arguments, k)                                                                     \
	"jumplabel_op_open\n"                                                                                          \
	JUMPLABEL_ARGUMENTS_(JUMPLABEL_STORE_, JUMPLABEL_UNWRAP_ arguments)                                            \
	"jumplabel_op_call " JUMPLABEL_SYMBOL_("jumplabel_open_" #k) "\n"                                              \
	back                                                                                                           \
	"jumplabel_op_close\n"
#define JUMPLABEL_STORE_(place, argument)                                                                              \
	"{movq %q[" #argument "], " place "(%%rsp)|mov [rsp + " place "], %q[" #argument "]}\n"
#define JUMPLABEL_OPEN_TEXT_(back, arguments, k, func, text)                                                           \
	JUMPLABEL_CALLED_TEXT_(back, arguments, k)                                                                     \
	JUMPLABEL_ROW_(#k)
#define JUMPLABEL_BOTH_TEXT_(back, arguments, k, func, text)                                                           \
	JUMPLABEL_CLOSED_TEXT_(back, arguments, k, func, text)                                                         \
	JUMPLABEL_CALLED_TEXT_(back, arguments, k)
#define JUMPLABEL_ROW_(mode) ".subsection 2\n.long " mode ", 8811b - .\n.previous\n"

/*
 * The arm PV_NOTHING: a nop as long as the native instruction, if that has 5 to 10 bytes; otherwise a stub that jumps back. This text
 * contains, for each length of the nop, those of its bytes that change at the site:
 *
 *     0f 1f 44 00 00    66 0f 1f 44 00    0f 1f 80 00 00    0f 1f 84 00 00    66 0f 1f 84 00    66 66 0f 1f 84
 */
#define JUMPLABEL_NOTHING_TEXT_(back, arguments, k, func, text)                                                        \
	".subsection 1\n"                                                                                              \
	"8811: .byte 0xe9\n"                                                                                           \
	".long 8803b - . - 4\n"                                                                                        \
	JUMPLABEL_NOP_BYTE_("0x66660f0f660f")                                                                          \
	JUMPLABEL_NOP_BYTE_("0x660f1f1f0f1f")                                                                          \
	JUMPLABEL_NOP_BYTE_("0x0f1f84801f44")                                                                          \
	JUMPLABEL_NOP_BYTE_("0x1f8400004400")                                                                          \
	JUMPLABEL_NOP_BYTE_("0x840000000000")                                                                          \
	".skip 5\n"                                                                                                    \
	".previous\n"                                                                                                  \
	".subsection 2\n"                                                                                              \
	".long " #k " - (((8803b - 8802b) <= 10) * (8803b - 8802b) << 8)\n"                                            \
	".long 8811b - . - ((8803b - 8802b) <= 10) * 5\n"                                                              \
	".previous\n"
#define JUMPLABEL_NOP_BYTE_(of_each_length) ".byte (" of_each_length " >> ((8803b - 8802b - 5) * 8)) & 255\n"

#endif

#endif
