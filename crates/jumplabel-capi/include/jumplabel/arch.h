/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The parts of assembler text that differ between instruction sets. <jumplabel/site.h> includes this. An instruction set defines those of these names
 * that it needs; the end of this file has defaults. docs/porting.md says what each must guarantee. No text contains a percent sign of its own,
 * because texts are used with and without operands. Exceptions are trampolines and naked calls, which always have operands, and the texts that stand
 * for operands.
 *
 *     JUMP_LABEL_NOP_SIZE              the size of a site in bytes
 *     JUMPLABEL_PREFIX_                the text before the site's label: on x86, a byte that nobody writes
 *     JUMPLABEL_NOP_(label, target)    aligns, defines the label, falls through
 *     JUMPLABEL_JUMP_(label, target)   aligns, defines the label, jumps
 *     JUMPLABEL_PLAIN_JUMP_(label, target)    a jump whose size the assembler chooses; if this is defined, all sites are such jumps
 *     JUMPLABEL_CLOBBERS_              the registers that a site may change
 *     JUMPLABEL_TEST_KEY_(key), JUMPLABEL_TEST_SLOT_(slot)
 *                                      the beginning of the stub of a site that loads: tests the count of the key, or of the key whose address is
 *                                      in the slot. Ignores the sign of the count. Saves the registers that it uses, and the flags if it changes
 *                                      them (not on x86)
 *     JUMPLABEL_STUB_(number, back, target)
 *                                      the end of the stub: restores what was saved, and goes to the target or back. Bit 0 of the number is the arm
 *     JUMPLABEL_ENTRY_(function)       the body of a constructor: calls the function with the object's record
 *     JUMPLABEL_NAKED_(label, target, value)
 *                                      the function of a naked key: defines the label of its site, and returns the value
 *     JUMPLABEL_SPARES_REGISTERS_      the attribute of a function that writes only the register of its result
 *     JUMPLABEL_NAKED_CALL_(function)  calls such a function
 *     JUMPLABEL_TRAMPOLINE_(label, func, slot)
 *                                      the trampoline of a static call: its site at the label, and the jump through the slot
 *     JUMPLABEL_TRAMPOLINE_TO_(label, func)
 *                                      the table's word for the first target of that site; by default, the trampoline's own stub. Without
 *                                      JUMPLABEL_TRAMPOLINE_, static calls load a pointer
 *     JUMPLABEL_MODE_IS_(mode, target), JUMPLABEL_JUMP_STUB_(label)
 *                                      two parts of a switch's stub, if one store cannot write a site. The first goes to the target if this is
 *                                      the mode; it saves registers, not flags. The second is a jump
 *     JUMPLABEL_KEY_CONSTRAINT_        the constraint of the operand that is a key's address, and
 *     JUMPLABEL_KEY_TEXT_              the text that stands for it, a constant
 *     JUMPLABEL_NUMBER_(name)          the text that stands for an operand that is a number
 *     JUMPLABEL_SYMBOL_(name)          the text that stands for an operand that is an address
 */
#ifndef JUMPLABEL_ARCH_H
#define JUMPLABEL_ARCH_H

/* A naked function whose site is like any other: it falls through to one return, or jumps to the other. */
#define JUMPLABEL_TWO_RETURNS_(label, target, value, returns_0, returns_1)                                             \
	".if " value "\n" JUMPLABEL_JUMP_(label, target) ".else\n" JUMPLABEL_NOP_(label, target) ".endif\n" returns_0 "\n" \
		target ":\n" returns_1 "\n"

#if (defined(__x86_64__) && !defined(__ILP32__)) || defined(__i386__)

/*
 * A prefix before a site. It changes no instruction of the site. If a function begins with a site, a uprobe or a breakpoint there replaces this byte,
 * not the site. In 64-bit mode, the prefix is REX without bits. But REX must be the last prefix, and the nop of a short site has a prefix of its own.
 * In 32-bit mode, the byte of REX is an instruction. So in these two cases the prefix is gs, which matters only for operands in memory. See
 * docs/safety.md.
 */
#if defined(JUMPLABEL_NO_SITE_PREFIX) || !defined(__ELF__)
#define JUMPLABEL_PREFIX_ ""
#define JUMPLABEL_OP_PREFIX_ ""
#elif defined(__i386__) || defined(JUMPLABEL_SHORT)
#define JUMPLABEL_PREFIX_ ".byte 0x65;"
#else
#define JUMPLABEL_PREFIX_ ".byte 0x40;"
#endif
/* The prefix of an operation in place and of an alternative, whose instructions may have prefixes: cs, which has no effect in 64-bit mode. Linux
   refuses a uprobe on it. */
#ifndef JUMPLABEL_OP_PREFIX_
#define JUMPLABEL_OP_PREFIX_ ".byte 0x2e\n"
#endif
/* The bit in an entry's meta word for a site with a prefix. */
#if !defined(JUMPLABEL_NO_SITE_PREFIX) && defined(__ELF__)
#define JUMPLABEL_PREFIXED_ 64
#define JUMPLABEL_META_PREFIXED_ "|64"
#endif
/* Instructions are written as bytes if their spelling depends on -masm. */
#define JUMP_LABEL_NOP_SIZE 5
#define JUMPLABEL_NOP_(label, target) label ":.byte 0x0f, 0x1f, 0x44, 0x00, 0x00;"
#define JUMPLABEL_JUMP_(label, target) label ":.byte 0xe9;.long " target " - . - 4;"
#if defined(JUMPLABEL_SHORT) && __STDC_HOSTED__ && defined(__ELF__)
/* Before version 19, clang cannot place a relocation at a label directly before a jump, so an empty .ascii is between them. */
#define JUMPLABEL_PLAIN_JUMP_(label, target) label ":.ascii \"\";jmp " target ";"
#endif
/* On x86, compilers assume that any assembler changes the flags. clang would search long for a register of that name. */
#define JUMPLABEL_CLOBBERS_
/* jnz target (if falling through means on: jz target); jmp back */
#define JUMPLABEL_STUB_(number, back, target)											\
	".byte 0x0f, 0x85 - (" number " & 1);.long " target " - . - 4;.byte 0xe9;.long " back " - . - 4;"
#ifdef __x86_64__
/* testl $0x7fffffff, key(%rip). For a slot, with a register that is saved below the red zone: lea -128(%rsp), %rsp; push %rax; mov slot(%rip), %rax;
   testl $0x7fffffff, (%rax); pop %rax; lea 128(%rsp), %rsp */
#define JUMPLABEL_TEST_KEY_(key) ".byte 0xf7, 0x05;.long " key " - . - 8;.long 0x7fffffff;"
#define JUMPLABEL_TEST_SLOT_(slot)											\
	".byte 0x48, 0x8d, 0x64, 0x24, 0x80, 0x50, 0x48, 0x8b, 0x05;.long " slot " - . - 4;"				\
	".byte 0xf7, 0x00;.long 0x7fffffff;.byte 0x58, 0x48, 0x8d, 0xa4, 0x24;.long 128;"
/* lea __jumplabel_object(%rip), %rdi */
#define JUMPLABEL_ENTRY_(function) ".byte 0x48, 0x8d, 0x3d\n.long __jumplabel_object - . - 4\njmp " function "@PLT\n"
#else
/* push %eax; call 5f; 5: pop %eax; (for a slot: mov (slot - 5b)(%eax), %eax;) testl $0x7fffffff, (key - 5b)(%eax); pop %eax */
#define JUMPLABEL_TEST_KEY_(key)                                                                                       \
	".byte 0x50, 0xe8;.long 0;5:.byte 0x58, 0xf7, 0x80;.long " key " - 5b;.long 0x7fffffff;.byte 0x58;"
#define JUMPLABEL_TEST_SLOT_(slot)                                                                                     \
	".byte 0x50, 0xe8;.long 0;5:.byte 0x58, 0x8b, 0x80;.long " slot " - 5b;.byte 0xf7, 0x00;.long 0x7fffffff;.byte 0x58;"
/*
 * call 2f; 2: pop %eax; add $(__jumplabel_object - 2b), %eax; push %ebx; call 3f; 3: pop %ebx; add $(the GOT - 3b), %ebx;
 * sub $4, %esp; push %eax; call; add $8, %esp; pop %ebx; ret. The stack is aligned at the call, and ebx holds the GOT's address for the
 * PLT.
 */
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	"call 2f\n2:\n.byte 0x58, 0x05\n.long __jumplabel_object - 2b\n.byte 0x53, 0xe8\n.long 0\n"                  \
	".byte 0x5b, 0x81, 0xc3\n.long _GLOBAL_OFFSET_TABLE_ - . + 3\n.byte 0x83, 0xec, 0x04, 0x50\n"                  \
	"call " function "@PLT\n.byte 0x83, 0xc4, 0x08, 0x5b, 0xc3\n"
#endif
#if defined(__x86_64__) && !defined(__ELF__)
/* endbr64; jmp func; jmp *slot(%rip) */
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	".byte 0xf3, 0x0f, 0x1e, 0xfa\n" label ":\n.byte 0xe9\n.long " func " - . - 4\n.byte 0xff, 0x25\n.long " slot " - . - 4\n"
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".long " func " - .\n"
#elif defined(__x86_64__)
/* endbr64; jmp func; jmp *slot(%rip) */
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	".byte 0xf3, 0x0f, 0x1e, 0xfa\n" label ":\njmp " func "@PLT\n.byte 0xff, 0x25\n.long " slot " - . - 4\n"
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".reloc ., R_X86_64_PLT32, " func "\n.long 0\n"
#endif
/* cmpb $mode, key(%rip); je target. For a slot, and on i686, with a register that is saved as above. */
#ifdef __x86_64__
#define JUMPLABEL_COMPARE_KEY_(key, mode) ".byte 0x80, 0x3d;.long " key " - . - 5;.byte " mode ";"
#define JUMPLABEL_COMPARE_SLOT_(slot, mode)                                                                            \
	".byte 0x48, 0x8d, 0x64, 0x24, 0x80, 0x50, 0x48, 0x8b, 0x05;.long " slot " - . - 4;"                          \
	".byte 0x80, 0x38, " mode ", 0x58, 0x48, 0x8d, 0xa4, 0x24;.long 128;"
#else
#define JUMPLABEL_COMPARE_KEY_(key, mode)                                                                              \
	".byte 0x50, 0xe8;.long 0;5:.byte 0x58, 0x80, 0xb8;.long " key " - 5b;.byte " mode ", 0x58;"
#define JUMPLABEL_COMPARE_SLOT_(slot, mode)                                                                            \
	".byte 0x50, 0xe8;.long 0;5:.byte 0x58, 0x8b, 0x80;.long " slot " - 5b;.byte 0x80, 0x38, " mode ", 0x58;"
#endif
#define JUMPLABEL_MODE_IS_(mode, target) JUMPLABEL_COMPARE_(mode) ".byte 0x0f, 0x84;.long " target " - . - 4;"
#define JUMPLABEL_JUMP_STUB_(label) ".byte 0xe9;.long " label " - . - 4;"
/* mov $value, %eax; ret */
#define JUMPLABEL_NAKED_(label, target, value) label ":\n" target ":\n.byte 0xb8\n.long " value "\n.byte 0xc3\n"
#ifdef __x86_64__
#define JUMPLABEL_SPARES_REGISTERS_ __attribute__((__no_caller_saved_registers__))
#endif
#ifdef __clang__
#define JUMPLABEL_KEY_CONSTRAINT_ "s"
#define JUMPLABEL_KEY_TEXT_ "%c[_key]"
#else
#ifdef __x86_64__
/* gcc uses the attribute in definitions only. It may keep values in the 128 bytes below the stack pointer, so the call steps over them. */
#define JUMPLABEL_NAKED_CALL_(function)                                                                                \
	__extension__({                                                                                                \
		bool jumplabel_value;                                                                                  \
		__asm__ __volatile__("{leaq -128(%%rsp), %%rsp|lea rsp, [rsp - 128]}\n\tcall %p[_callee]"                \
				     "\n\t{leaq 128(%%rsp), %%rsp|lea rsp, [rsp + 128]}"                               \
				     : "=a"(jumplabel_value)                                                           \
				     : [_callee] "X"(function));                                                         \
		jumplabel_value;                                                                                       \
	})
#endif
#define JUMPLABEL_KEY_CONSTRAINT_ "X"
#define JUMPLABEL_KEY_TEXT_ "%p[_key]"
#define JUMPLABEL_SYMBOL_(name) "%p[" name "]"
#endif
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__aarch64__) && defined(__LP64__) && !defined(__AARCH64EB__)

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
/* The .inst is cbnz w16 (if falling through means on: cbz), over two instructions. Nothing lies below the stack pointer. */
#define JUMPLABEL_TEST_KEY_(key)											\
	"str x16, [sp, #-16]!;adrp x16, " key ";ldr w16, [x16, :lo12:" key "];"
#define JUMPLABEL_TEST_SLOT_(slot)											\
	"str x16, [sp, #-16]!;adrp x16, " slot ";ldr x16, [x16, :lo12:" slot "];ldr w16, [x16];"
#define JUMPLABEL_STUB_(number, back, target)											\
	"lsl w16, w16, #1;.inst 0x35000070 - (" number " & 1) * 0x1000000;"			\
	"ldr x16, [sp], #16;b " back ";ldr x16, [sp], #16;b " target ";"
/* hint #34 is `bti c`, because the loader calls indirectly. */
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	"hint #34\nadrp x0, __jumplabel_object\nadd x0, x0, :lo12:__jumplabel_object\nb " function "\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "mov w0, #0\nret", "mov w0, #1\nret")
/* hint #34 is `bti c`, on which a branch through x16 may land, too. */
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	"hint #34\n" label ":\nb " label "_stub\nadrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"          \
	label "_stub:\nb " func "\n"
#ifdef __clang__
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#else
#define JUMPLABEL_KEY_CONSTRAINT_ "S"
#endif
#define JUMPLABEL_KEY_TEXT_ "%c[_key]"
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__riscv) && __riscv_xlen == 64

/* The alignment comes before compressed instructions are forbidden, because the linker then keeps it. */
#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) ".option push\n.p2align 2\n.option norvc\n" label ":\nnop\n.option pop\n"
#define JUMPLABEL_JUMP_(label, target)                                                                                 \
	".option push\n.p2align 2\n.option norvc\n" label ":\njal zero, " target "\n.option pop\n"
#define JUMPLABEL_CLOBBERS_
/* Nothing lies below the stack pointer. */
#define JUMPLABEL_TEST_KEY_(key)											\
	"addi sp, sp, -16;sd t0, 8(sp);lw t0, " key ";"
#define JUMPLABEL_TEST_SLOT_(slot)											\
	"addi sp, sp, -16;sd t0, 8(sp);ld t0, " slot ";lw t0, 0(t0);"
#define JUMPLABEL_STUB_(number, back, target)											\
	"slliw t0, t0, 1;" ".if " number " & 1;beqz t0, 5f;.else;bnez t0, 5f;.endif;"		\
	"ld t0, 8(sp);addi sp, sp, 16;j " back ";5:ld t0, 8(sp);addi sp, sp, 16;j " target ";"
#define JUMPLABEL_ENTRY_(function) "lla a0, __jumplabel_object\ntail " function "@plt\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	".option push\n.p2align 2\n.option norvc\n" label ":\n" target ":\nli a0, " value "\nret\n.option pop\n"
/* No other alignment before this, because code that the linker shortens before it would move it. */
#define JUMPLABEL_TRAMPOLINE_ALIGN_
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	".option push\n.option norvc\n.option norelax\n.p2align 2\n" label ":\njal zero, " label "_stub\n" label "_slot:\n" \
	"auipc t1, %%pcrel_hi(" slot ")\nld t1, %%pcrel_lo(" label "_slot)(t1)\njr t1\n" label "_stub:\ntail " func "\n.option pop\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%[_key]"
#define JUMPLABEL_NUMBER_(name) "%[" name "]"

#elif defined(__s390x__)

#define JUMP_LABEL_NOP_SIZE 6
#define JUMPLABEL_NOP_(label, target) label ":\nbrcl 0, " target "\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nbrcl 15, " target "\n"
#define JUMPLABEL_CLOBBERS_
/* Nothing lies below the stack pointer; none of these instructions sets the condition code. clang accepts no quoted name as an operand. */
#define JUMPLABEL_TEST_KEY_(key)											\
	"lay 15, -16(15);stg 1, 8(15);larl 1, " key ";"
#define JUMPLABEL_TEST_SLOT_(slot)											\
	".set .Ljumplabel_word_%=, " slot ";lay 15, -16(15);stg 1, 8(15);larl 1, .Ljumplabel_word_%=;lg 1, 0(1);"
#define JUMPLABEL_STUB_(number, back, target)											\
	"llgt 1, 0(1);" ".if " number " & 1;cgije 1, 0, 5f;.else;cgijne 1, 0, 5f;.endif;"		\
	"lg 1, 8(15);la 15, 16(15);jg " back ";5:lg 1, 8(15);la 15, 16(15);jg " target ";"
/* Only cli sets the condition code; the instructions after it do not. */
#define JUMPLABEL_COMPARE_KEY_(key, mode) JUMPLABEL_TEST_KEY_(key) "cli 0(1), " mode ";lg 1, 8(15);la 15, 16(15);"
#define JUMPLABEL_COMPARE_SLOT_(slot, mode) JUMPLABEL_TEST_SLOT_(slot) "cli 0(1), " mode ";lg 1, 8(15);la 15, 16(15);"
#define JUMPLABEL_MODE_IS_(mode, target) JUMPLABEL_COMPARE_(mode) "jge " target ";"
#define JUMPLABEL_JUMP_STUB_(label) "jg " label ";"
#define JUMPLABEL_ENTRY_(function) "larl 2, __jumplabel_object\njg " function "@PLT\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "lghi 2, 0\nbr 14", "lghi 2, 1\nbr 14")
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	label ":\nbrcl 15, " label "_stub\nlgrl 1, " slot "\nbr 1\n" label "_stub:\njg " func "@PLT\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%[_key]"
#define JUMPLABEL_NUMBER_(name) "%[" name "]"

#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
/* Uses memory below the 288 bytes below the stack pointer that a leaf may use. Uses the link register, because r2 need not be this function's TOC. */
#define JUMPLABEL_TEST_KEY_(key)											\
	"stdu 1, -368(1);std 11, 32(1);std 12, 40(1);mflr 12;std 12, 48(1);mfcr 12;bcl 20, 31, 5f;5:mflr 11;addis 11, 11, " key "-5b@ha;lwz 11, " key "-5b@l(11);"
#define JUMPLABEL_TEST_SLOT_(slot)											\
	"stdu 1, -368(1);std 11, 32(1);std 12, 40(1);mflr 12;std 12, 48(1);mfcr 12;bcl 20, 31, 5f;5:mflr 11;addis 11, 11, " slot "-5b@ha;addi 11, 11, " slot "-5b@l;ld 11, 0(11);lwz 11, 0(11);"
#define JUMPLABEL_STUB_(number, back, target)											\
	"clrlwi. 11, 11, 1;" ".if " number " & 1;beq 6f;.else;bne 6f;.endif;"			\
	"mtcrf 128, 12;ld 12, 48(1);mtlr 12;ld 12, 40(1);ld 11, 32(1);addi 1, 1, 368;b " back ";6:mtcrf 128, 12;ld 12, 48(1);mtlr 12;ld 12, 40(1);ld 11, 32(1);addi 1, 1, 368;b " target ";"
/* The caller has put this function's address into r12; the TOC's address follows from it. */
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	".L" function "_entry:\naddis 2, 12, .TOC.-.L" function "_entry@ha\naddi 2, 2, .TOC.-.L" function "_entry@l\n"  \
	"mflr 0\nstd 0, 16(1)\nstdu 1, -32(1)\n"                                                                       \
	"addis 3, 2, __jumplabel_object@toc@ha\naddi 3, 3, __jumplabel_object@toc@l\nbl " function "\nnop\n"           \
	"addi 1, 1, 32\nld 0, 16(1)\nmtlr 0\nblr\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "li 3, 0\nblr", "li 3, 1\nblr")
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%c[_key]"
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__arm__) && !defined(__thumb__) && __ARM_ARCH >= 7 && !defined(__ARM_BIG_ENDIAN)

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
/* Nothing lies below the stack pointer. */
#define JUMPLABEL_TEST_KEY_(key)											\
	"push {r0, r1};mrs r1, apsr;ldr r0, 7f;b 5f;7:.long " key " - (5f + 8);5:ldr r0, [pc, r0];"
#define JUMPLABEL_TEST_SLOT_(slot)											\
	"push {r0, r1};mrs r1, apsr;ldr r0, 7f;b 5f;7:.long " slot " - (5f + 8);5:ldr r0, [pc, r0];ldr r0, [r0];"
#define JUMPLABEL_STUB_(number, back, target)											\
	"lsls r0, r0, #1;" ".if " number " & 1;beq 6f;.else;bne 6f;.endif;"			\
	"msr apsr_nzcvq, r1;pop {r0, r1};b " back ";6:msr apsr_nzcvq, r1;pop {r0, r1};b " target ";"
#define JUMPLABEL_ENTRY_(function)                                                                                     \
	"ldr r0, 3f\n2: add r0, pc, r0\nb " function "\n3: .long __jumplabel_object - (2b + 8)\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "mov r0, #0\nbx lr", "mov r0, #1\nbx lr")
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	label ":\nb " label "_stub\nldr r12, " label "_word\n" label "_slot: ldr pc, [pc, r12]\n"                        \
	label "_word: .long " slot " - (" label "_slot + 8)\n" label "_stub: b " func "\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%c[_key]"
#define JUMPLABEL_NUMBER_(name) "%c[" name "]"

#elif defined(__loongarch__) && __loongarch_grlen == 64

#define JUMP_LABEL_NOP_SIZE 4
#define JUMPLABEL_NOP_(label, target) label ":\nnop\n"
#define JUMPLABEL_JUMP_(label, target) label ":\nb " target "\n"
#define JUMPLABEL_CLOBBERS_
/* Nothing lies below the stack pointer. */
#define JUMPLABEL_TEST_KEY_(key)											\
	"addi.d $sp, $sp, -16;st.d $t0, $sp, 8;la.local $t0, " key ";ld.w $t0, $t0, 0;"
#define JUMPLABEL_TEST_SLOT_(slot)											\
	"addi.d $sp, $sp, -16;st.d $t0, $sp, 8;la.local $t0, " slot ";ld.d $t0, $t0, 0;ld.w $t0, $t0, 0;"
#define JUMPLABEL_STUB_(number, back, target)											\
	"slli.w $t0, $t0, 1;" ".if " number " & 1;beqz $t0, 5f;.else;bnez $t0, 5f;.endif;"		\
	"ld.d $t0, $sp, 8;addi.d $sp, $sp, 16;b " back ";5:ld.d $t0, $sp, 8;addi.d $sp, $sp, 16;b " target ";"
#define JUMPLABEL_ENTRY_(function) "la.local $a0, __jumplabel_object\nb " function "\n"
#define JUMPLABEL_NAKED_(label, target, value)                                                                         \
	JUMPLABEL_TWO_RETURNS_(label, target, value, "ori $a0, $zero, 0\njr $ra", "ori $a0, $zero, 1\njr $ra")
#define JUMPLABEL_TRAMPOLINE_(label, func, slot)                                                                       \
	label ":\nb " label "_stub\npcalau12i $t8, %%pc_hi20(" slot ")\nld.d $t8, $t8, %%pc_lo12(" slot ")\njr $t8\n"   \
	label "_stub:\nb " func "\n"
#define JUMPLABEL_KEY_CONSTRAINT_ "i"
#define JUMPLABEL_KEY_TEXT_ "%[_key]"
#define JUMPLABEL_NUMBER_(name) "%[" name "]"

#endif

#ifndef JUMPLABEL_SYMBOL_
#define JUMPLABEL_SYMBOL_(name) JUMPLABEL_NUMBER_(name)
#endif

/* By default, a naked function is an ordinary function, and is called as one. */
#ifndef JUMPLABEL_SPARES_REGISTERS_
#define JUMPLABEL_SPARES_REGISTERS_
#endif
#ifndef JUMPLABEL_NAKED_CALL_
#define JUMPLABEL_NAKED_CALL_(function) (function())
#endif

/* The alignment of a trampoline: its site lies in one cache line, and in one page. */
#ifndef JUMPLABEL_TRAMPOLINE_ALIGN_
#define JUMPLABEL_TRAMPOLINE_ALIGN_ ".balign 16\n"
#endif
/* By default, the site leads to a stub: a function may be in another object or out of reach, which the linker handles in jumps, but not in words. */
#ifndef JUMPLABEL_TRAMPOLINE_TO_
#define JUMPLABEL_TRAMPOLINE_TO_(label, func) ".long " label "_stub - .\n"
#endif

#ifndef JUMPLABEL_PREFIX_
#define JUMPLABEL_PREFIX_ ""
#endif
#ifndef JUMPLABEL_PREFIXED_
#define JUMPLABEL_PREFIXED_ 0
#define JUMPLABEL_META_PREFIXED_ ""
#endif

/* Words with the size of a pointer. */
#if __SIZEOF_POINTER__ == 8
#define JUMPLABEL_BALIGN_POINTER_ ".balign 8\n"
#define JUMPLABEL_POINTERS_(words) ".quad " words "\n"
#else
#define JUMPLABEL_BALIGN_POINTER_ ".balign 4\n"
#define JUMPLABEL_POINTERS_(words) ".long " words "\n"
#endif

#endif
