/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The note of an SDT probe: it tells tracers where the probe is, and where to find its arguments. <jumplabel/usdt.h> and <jumplabel/sdt.h> include
 * this.
 *
 *     code of the function            .note.stapsdt, not loaded
 *     1: nop  ◄────────────────────── place, address of .stapsdt.base, address of the semaphore or 0
 *                                     provider, name, "-4@%edi 8@16(%rsp)"
 *
 * The format is that of <sys/sdt.h> ("stapsdt", version 3). Only x86-64, aarch64 and riscv64 have notes here.
 */
#ifndef JUMPLABEL_NOTE_H
#define JUMPLABEL_NOTE_H

/* NOP: a nop of one instruction. LONG_NOP: a nop that a kernel can turn into a call (x86-64). CONSTRAINT: where the compiler may leave an argument:
   in a constant, in memory or in a register (on RISC-V, clang has no `o`). */
#if !defined(__ELF__) || !__STDC_HOSTED__
#elif defined(__x86_64__) && !defined(__ILP32__)
#define JUMPLABEL_NOTE_NOP_ "nop"
#define JUMPLABEL_NOTE_LONG_NOP_ ".byte 0x0f,0x1f,0x44,0,0"
#define JUMPLABEL_NOTE_CONSTRAINT_ "nor"
#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__)
#define JUMPLABEL_NOTE_NOP_ "nop"
#define JUMPLABEL_NOTE_LONG_NOP_ "nop"
#define JUMPLABEL_NOTE_CONSTRAINT_ "nor"
#elif defined(__riscv) && __riscv_xlen == 64
#define JUMPLABEL_NOTE_NOP_ "nop"
#define JUMPLABEL_NOTE_LONG_NOP_ "nop"
#define JUMPLABEL_NOTE_CONSTRAINT_ "nmr"
#endif

/* `nop` comes after the label 1. `places` are directives that emit the text of the arguments. */
#define JUMPLABEL_NOTE_(nop, semaphore, provider, name, places)                                                                        \
	".Lj_usdt%=:1:" nop "\n"                                                                                                       \
	".pushsection .note.stapsdt,\"o?\",\"note\",.Lj_usdt%=\n"                                                                    \
	".balign 4;.long 3f-2f,5f-4f,3;2:.asciz \"stapsdt\"\n"                                                                         \
	"3:.balign 4;4:.quad 1b,_.stapsdt.base," semaphore "\n"                                                                        \
	".asciz \"" provider "\";.asciz \"" name "\"\n" places ".byte 0\n"                                                            \
	"5:.balign 4;.popsection\n"                                                                                                    \
	".ifndef _.stapsdt.base\n"                                                                                                     \
	JUMPLABEL_RETAINED_(".stapsdt.base", "aG", ", \"progbits\", .stapsdt.base, comdat")                                            \
	".weak _.stapsdt.base;.hidden _.stapsdt.base;_.stapsdt.base:.space 1;.size _.stapsdt.base,1;.popsection\n"                     \
	".endif"

#endif
