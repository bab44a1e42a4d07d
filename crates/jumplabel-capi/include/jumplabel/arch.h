/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What differs between instruction sets, as text for the assembler; <jumplabel/site.h> includes this. The same names in the
 * same order for each; docs/porting.md says what each must guarantee. No text has a percent sign of its own: it is used
 * with and without operands.
 *
 *     JUMP_LABEL_NOP_SIZE              bytes of a site
 *     JUMPLABEL_NOP_(label, target)    aligns, puts the label, falls through
 *     JUMPLABEL_JUMP_(label, target)   aligns, puts the label, jumps
 *     JUMPLABEL_CLOBBERS_              what a site may change
 *     JUMPLABEL_ENTRY_(function)       the body of a constructor: calls the function with the object's record
 *     JUMPLABEL_NAKED_(label, target, value)
 *                                      the function of a naked key: its site behind the label, the return of the value
 *     JUMPLABEL_SPARES_REGISTERS_      attribute of a function that writes no register but that of its result
 *     JUMPLABEL_NAKED_CALL_(function, symbol)
 *                                      calls such a function
 *     JUMPLABEL_TRAMPOLINE_(label, func, slot)
 *                                      a static call's trampoline: its site behind the label, and the way by the slot
 *     JUMPLABEL_TRAMPOLINE_TO_(label, func)   the table's word for where that site leads at first; without these two, static calls
 *                                      go by way of a pointer
 *     JUMPLABEL_KEY_CONSTRAINT_        the address of a key as an operand, and
 *     JUMPLABEL_KEY_TEXT_              as text, a constant
 *     JUMPLABEL_NUMBER_(name)          an operand that is a number, as text
 */
#ifndef JUMPLABEL_ARCH_H
#define JUMPLABEL_ARCH_H

/* A naked function with a site like any other, that falls through to one return or jumps to the other. */
#define JUMPLABEL_TWO_RETURNS_(label, target, value, returns_0, returns_1)                                             \
	".if " value "\n" JUMPLABEL_JUMP_(label, target) ".else\n" JUMPLABEL_NOP_(label, target) ".endif\n" returns_0 "\n" \
		target ":\n" returns_1 "\n"

#if (defined(__x86_64__) && !defined(__ILP32__)) || defined(__i386__)

/* Bytes where the spelling of an instruction depends on -masm. */
#define JUMP_LABEL_NOP_SIZE 5
#define JUMPLABEL_NOP_(label, target) label ":.byte 0x0f, 0x1f, 0x44, 0x00, 0x00;"
#define JUMPLABEL_JUMP_(label, target) label ":.byte 0xe9;.long " target " - . - 4;"
#define JUMPLABEL_CLOBBERS_ "cc"
#ifdef __x86_64__
/* lea __jumplabel_object(%rip), %rdi */
#define JUMPLABEL_ENTRY_(function) ".byte 0x48, 0x8d, 0x3d\n.long __jumplabel_object - . - 4\njmp " function "@PLT\n"
#else
/*
 * call 2f; 2: pop %eax; add $(__jumplabel_object - 2b), %eax; push %ebx; call 3f; 3: pop %ebx; add $(the GOT - 3b), %ebx;
 * sub $4, %esp; push %eax; call; add $8, %esp; pop %ebx; ret. The stack is aligned at the call, and a PLT finds the GOT by
 * ebx.
 */
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	"call 2f\n2:\n.byte 0x58, 0x05\n.long __jumplabel_object - 2b\n.byte 0x53, 0xe8\n.long 0\n"                  \
	".byte 0x5b, 0x81, 0xc3\n.long _GLOBAL_OFFSET_TABLE_ - . + 3\n.byte 0x83, 0xec, 0x04, 0x50\n"                  \
	"call " function "@PLT\n.byte 0x83, 0xc4, 0x08, 0x5b, 0xc3\n"
#endif
#ifdef __x86_64__
/* endbr64; jmp func; jmp *slot(%rip) */
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	".byte 0xf3, 0x0f, 0x1e, 0xfa\n" label ":\njmp " func "@PLT\n.byte 0xff, 0x25\n.long " slot " - . - 4\n"
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".reloc ., R_X86_64_PLT32, " func "\n.long 0\n"
#endif
/* mov $value, %eax; ret */
#define JUMPLABEL_NAKED_(label, target, value) label ":\n" target ":\n.byte 0xb8\n.long " value "\n.byte 0xc3\n"
#ifdef __x86_64__
#define JUMPLABEL_SPARES_REGISTERS_ __attribute__((no_caller_saved_registers))
#endif
#ifdef __clang__
#define JUMPLABEL_KEY_CONSTRAINT_ "s"
#define JUMPLABEL_KEY_TEXT_ "%c[key]"
#else
#ifdef __x86_64__
/* gcc heeds the attribute in definitions only. It may keep something in the 128 bytes below the stack pointer. */
#define JUMPLABEL_NAKED_CALL_(function, symbol)                                                                        \
	__extension__({                                                                                                \
		bool jumplabel_value;                                                                                  \
		__asm__ __volatile__("{leaq -128(%%rsp), %%rsp|lea rsp, [rsp - 128]}\n\tcall " symbol                  \
				     "\n\t{leaq 128(%%rsp), %%rsp|lea rsp, [rsp + 128]}"                               \
				     : "=a"(jumplabel_value));                                                         \
		jumplabel_value;                                                                                       \
	})
#endif
#define JUMPLABEL_KEY_CONSTRAINT_ "X"
#define JUMPLABEL_KEY_TEXT_ "%p[key]"
#endif
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__)

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
/* hint #34 is `bti c`: the loader's call is an indirect one. */
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	"hint #34\nadrp x0, __jumplabel_object\nadd x0, x0, :lo12:__jumplabel_object\nb " function "\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "mov w0, #0\nret", "mov w0, #1\nret")
/* `bti c`, which a branch by way of x16 lands on, too. */
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	"hint #34\n" label ":\nb " func "\nadrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".long " func " - .\n"
#ifdef __clang__
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#else
#define JUMPLABEL_KEY_CONSTRAINT_ "S"
#endif
#define JUMPLABEL_KEY_TEXT_ "%c[key]"
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__riscv) && __riscv_xlen == 64

/* Aligned before compressed instructions are forbidden: the linker then knows that it has to keep the alignment. */
#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) ".option push\n.p2align 2\n.option norvc\n" label ":\nnop\n.option pop\n"
#define JUMPLABEL_JUMP_(label, target)                                                                                 \
	".option push\n.p2align 2\n.option norvc\n" label ":\njal zero, " target "\n.option pop\n"
#define JUMPLABEL_CLOBBERS_
#define JUMPLABEL_ENTRY_(function) "lla a0, __jumplabel_object\ntail " function "@plt\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	".option push\n.p2align 2\n.option norvc\n" label ":\n" target ":\nli a0, " value "\nret\n.option pop\n"
/* The site does not reach far, so that it leads to a stub at first. */
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	".option push\n.option norvc\n.option norelax\n.p2align 2\n" label ":\njal zero, " label "_stub\n" label "_slot:\n" \
	"auipc t1, %%pcrel_hi(" slot ")\nld t1, %%pcrel_lo(" label "_slot)(t1)\njr t1\n" label "_stub:\ntail " func "\n.option pop\n"
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".long " label "_stub - .\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%[key]"
#define JUMPLABEL_NUMBER_(name) "%[" name "]"

#elif defined(__s390x__)

#define JUMP_LABEL_NOP_SIZE 6
#define JUMPLABEL_NOP_(label, target) label ":\nbrcl 0, " target "\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nbrcl 15, " target "\n"
#define JUMPLABEL_CLOBBERS_
#define JUMPLABEL_ENTRY_(function) "larl 2, __jumplabel_object\njg " function "@PLT\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "lghi 2, 0\nbr 14", "lghi 2, 1\nbr 14")
#define JUMPLABEL_TRAMPOLINE_(label, func, slot) label ":\nbrcl 15, " func "\nlgrl 1, " slot "\nbr 1\n"
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".long " func " - .\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%[key]"
#define JUMPLABEL_NUMBER_(name) "%[" name "]"

#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
/* The caller has put the function's address into r12, from which the TOC follows. */
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	".L" function "_entry:\naddis 2, 12, .TOC.-.L" function "_entry@ha\naddi 2, 2, .TOC.-.L" function "_entry@l\n"  \
	"mflr 0\nstd 0, 16(1)\nstdu 1, -32(1)\n"                                                                       \
	"addis 3, 2, __jumplabel_object@toc@ha\naddi 3, 3, __jumplabel_object@toc@l\nbl " function "\nnop\n"           \
	"addi 1, 1, 32\nld 0, 16(1)\nmtlr 0\nblr\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "li 3, 0\nblr", "li 3, 1\nblr")
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%c[key]"
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__arm__) && !defined(__thumb__) && __ARM_ARCH >= 7 && !defined(__ARM_BIG_ENDIAN)

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	"ldr r0, 3f\n2: add r0, pc, r0\nb " function "\n3: .long __jumplabel_object - (2b + 8)\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "mov r0, #0\nbx lr", "mov r0, #1\nbx lr")
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	label ":\nb " func "\nldr r12, " label "_word\n" label "_slot: ldr pc, [pc, r12]\n" label "_word: .long " slot " - (" label "_slot + 8)\n"
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".long " func " - .\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%c[key]"
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__loongarch__) && __loongarch_grlen == 64

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
#define JUMPLABEL_ENTRY_(function) "la.local $a0, __jumplabel_object\nb " function "\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "ori $a0, $zero, 0\njr $ra", "ori $a0, $zero, 1\njr $ra")
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	label ":\nb " func "\npcalau12i $t8, %%pc_hi20(" slot ")\nld.d $t8, $t8, %%pc_lo12(" slot ")\njr $t8\n"
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".long " func " - .\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%[key]"
#define JUMPLABEL_NUMBER_(name) "%[" name "]"

#endif

/* An ordinary call of an ordinary function. */
#ifndef JUMPLABEL_SPARES_REGISTERS_
#define JUMPLABEL_SPARES_REGISTERS_
#endif
#ifndef JUMPLABEL_NAKED_CALL_
#define JUMPLABEL_NAKED_CALL_(function, symbol) (function())
#endif

/* Words of the size of a pointer. */
#if __SIZEOF_POINTER__ == 8
#define JUMPLABEL_BALIGN_POINTER_ ".balign 8\n"
#define JUMPLABEL_POINTERS_(words) ".quad " words "\n"
#else
#define JUMPLABEL_BALIGN_POINTER_ ".balign 4\n"
#define JUMPLABEL_POINTERS_(words) ".long " words "\n"
#endif

#endif
