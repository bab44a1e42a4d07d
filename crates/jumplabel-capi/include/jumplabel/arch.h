/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What differs between instruction sets, as text for the assembler; <jumplabel/site.h> includes this. The same names in the
 * same order for each; docs/porting.md says what each must guarantee.
 *
 *     JUMP_LABEL_NOP_SIZE            bytes of a site
 *     JUMPLABEL_NOP_(label)          aligns, puts the label, falls through
 *     JUMPLABEL_JUMP_(label, target) aligns, puts the label, jumps
 *     JUMPLABEL_CLOBBERS_            what a site may change
 *     JUMPLABEL_ENTRY_(function)     the body of a constructor: calls the function with the object's record
 *     JUMPLABEL_KEY_CONSTRAINT_      the address of a key as an operand, and
 *     JUMPLABEL_KEY_TEXT_            as text, a constant
 *     JUMPLABEL_NUMBER_(name)        an operand that is a number, as text
 */
#ifndef JUMPLABEL_ARCH_H
#define JUMPLABEL_ARCH_H

#if defined(__x86_64__) && !defined(__ILP32__)

/* Bytes where the spelling of an instruction depends on -masm. */
#define JUMP_LABEL_NOP_SIZE 5
#define JUMPLABEL_NOP_(label) label ":\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#define JUMPLABEL_JUMP_(label, target) label ":\n.byte 0xe9\n.long " target " - . - 4\n"
#define JUMPLABEL_CLOBBERS_ "cc"
/* lea __jumplabel_object(%rip), %rdi */
#define JUMPLABEL_ENTRY_(function) ".byte 0x48, 0x8d, 0x3d\n.long __jumplabel_object - . - 4\njmp " function "@PLT\n"
#ifdef __clang__
#define JUMPLABEL_KEY_CONSTRAINT_ "s"
#define JUMPLABEL_KEY_TEXT_ "%c[key]"
#else
#define JUMPLABEL_KEY_CONSTRAINT_ "X"
#define JUMPLABEL_KEY_TEXT_ "%p[key]"
#endif
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__)

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
/* hint #34 is `bti c`: the loader's call is an indirect one. */
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	"hint #34\nadrp x0, __jumplabel_object\nadd x0, x0, :lo12:__jumplabel_object\nb " function "\n"
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
#define JUMPLABEL_NOP_(label) ".option push\n.p2align 2\n.option norvc\n" label ":\nnop\n.option pop\n"
#define JUMPLABEL_JUMP_(label, target)                                                                                 \
	".option push\n.p2align 2\n.option norvc\n" label ":\njal zero, " target "\n.option pop\n"
#define JUMPLABEL_CLOBBERS_
#define JUMPLABEL_ENTRY_(function) "lla a0, __jumplabel_object\ntail " function "@plt\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%[key]"
#define JUMPLABEL_NUMBER_(name) "%[" name "]"

#else
#error "jumplabel has sites on x86-64, aarch64 and riscv64: define JUMPLABEL_FALLBACK for checks that load, test and jump"
#endif

#endif
