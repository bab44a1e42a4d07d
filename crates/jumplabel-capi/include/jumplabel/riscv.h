/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ready-made functions for struct jumplabel_machine on RISC-V (64 bits). Take those whose conditions your kernel meets.
 *
 *     static const struct jumplabel_machine machine = {
 *         JUMPLABEL_RISCV_MACHINE, JUMPLABEL_RISCV_WINDOW, .cpu = jumplabel_riscv_tp, .interrupt = jumplabel_riscv_clint,
 *     };
 *
 * In a kernel without firmware, machine mode gets the interrupts of the timer and of other harts, and hands both to supervisor mode as one:
 *
 *     JUMPLABEL_RISCV_FORWARD(timervec)       makes jumplabel_riscv_entry: it forwards requests, and hands other traps to timervec
 *     jumplabel_riscv_forward();              on each hart, in machine mode
 *     if (jumplabel_riscv_acknowledge())      in the handler of the software interrupt
 *         tick();
 *     jumplabel_kernel_answer();
 *
 *     another hart: jumplabel_riscv_clint ─> its request ─┐         ┌─ a request: cleared ────────────┐
 *                                                         ├─ entry ─┤                                 ├─> software interrupt
 *     the timer ──────────────────────────────────────────┘         └─ a tick: noted ─> timervec ─────┘
 */
#ifndef JUMPLABEL_RISCV_H
#define JUMPLABEL_RISCV_H

#if !defined(__riscv) || __riscv_xlen != 64
#error "jumplabel/riscv.h is for RISC-V of 64 bits"
#endif

#include "kernel.h"

JUMPLABEL_C_BEGIN_

/* The number in tp. Use it as `cpu` if your kernel keeps the hart's number there. */
size_t jumplabel_riscv_tp(void);
/* Changes sstatus.SIE. */
uint64_t jumplabel_riscv_interrupts_off(void);
void jumplabel_riscv_restore(uint64_t _interrupts);
/* fence.i */
void jumplabel_riscv_serialise(void);
/* Reads rdtime, which machine mode must allow (mcounteren), at the 10 MHz of QEMU's virt. If a board's timer is faster or slower, `patience` gets
   shorter or longer by that factor. */
uint64_t jumplabel_riscv_nanoseconds(void);
/* Executes wfi. Then clears the software interrupt if it was only a request. A tick of the timer stays pending. */
void jumplabel_riscv_wait(void);
#define JUMPLABEL_RISCV_MACHINE \
	.interrupts_off = jumplabel_riscv_interrupts_off, .restore = jumplabel_riscv_restore, .serialise = jumplabel_riscv_serialise, \
	.nanoseconds = jumplabel_riscv_nanoseconds, .wait = jumplabel_riscv_wait

/* During a write, an entry of the root table that is 0 maps the memory around the text a second time, readable and writable (Sv39: 1 GiB).
   Conditions: the kernel runs at its physical addresses, can write its tables there, and uses no address whose entry in the root table is 0. While
   translation is off, text is written at its own address. */
int jumplabel_riscv_map(uintptr_t _address, uintptr_t *_alias);
void jumplabel_riscv_unmap(uintptr_t _alias);
#define JUMPLABEL_RISCV_WINDOW .map = jumplabel_riscv_map, .unmap = jumplabel_riscv_unmap

/* For `interrupt`: by the firmware, or by the interrupt controller at 0x2000000 (CLINT, as in QEMU's virt), which the kernel must have mapped there.
   CPU numbers must be hart numbers. */
void jumplabel_riscv_sbi(size_t _hart);
void jumplabel_riscv_clint(size_t _hart);

/* Clears the software interrupt. Returns true if this hart's timer has ticked, perhaps in addition to a request. Call it before
   jumplabel_kernel_answer(): a request that comes in between then interrupts again. tp must have the hart's number. */
bool jumplabel_riscv_acknowledge(void);

/* Makes jumplabel_riscv_entry, a handler of machine mode's traps; use it once in a kernel. It clears requests of other harts, and forwards them as
   software interrupts of supervisor mode. It hands all other traps to `_next`, the kernel's own handler, with all registers as they were. A tick is
   noted first; `_next` must then make it a software interrupt, too. mscratch must point to memory of this hart. The entry overwrites its first 16
   bytes, so `_next` must not keep anything there from one trap to the next. `_next` must lie within 1 MiB. */
#define JUMPLABEL_RISCV_FORWARD(_next) \
	__asm__(".pushsection .text, \"ax\", %progbits\n" \
		".option push\n" \
		".option norelax\n" \
		".balign 4\n" \
		".globl jumplabel_riscv_entry\n" \
		"jumplabel_riscv_entry:\n" \
		"csrrw a0, mscratch, a0\n" \
		"sd a1, 0(a0)\n" \
		"sd a2, 8(a0)\n" \
		"csrr a1, mcause\n" \
		"bgez a1, 2f\n" \
		"slli a1, a1, 1\n" \
		"addi a1, a1, -6\n" \
		"beqz a1, 1f\n" \
		"addi a1, a1, -8\n" \
		"bnez a1, 2f\n" \
		"csrr a1, mhartid\n" \
		"andi a1, a1, 63\n" \
		"lla a2, jumplabel_riscv_ticked_\n" \
		"add a2, a2, a1\n" \
		"li a1, 1\n" \
		"sb a1, 0(a2)\n" \
		"j 2f\n" \
		"1: csrr a1, mhartid\n" \
		"slli a1, a1, 2\n" \
		"lui a2, 0x2000\n" \
		"add a1, a1, a2\n" \
		"sw zero, 0(a1)\n" \
		"fence o, r\n" \
		"csrsi mip, 2\n" \
		"ld a1, 0(a0)\n" \
		"ld a2, 8(a0)\n" \
		"csrrw a0, mscratch, a0\n" \
		"mret\n" \
		"2:\n" \
		"ld a1, 0(a0)\n" \
		"ld a2, 8(a0)\n" \
		"csrrw a0, mscratch, a0\n" \
		"j " #_next "\n" \
		".option pop\n" \
		".popsection")

extern char jumplabel_riscv_entry[];

/* Sets up machine mode; call it on each hart once mscratch is set. Traps then lead to jumplabel_riscv_entry, requests of other harts interrupt, and
   supervisor mode may read the time. */
static inline void jumplabel_riscv_forward(void)
{
	__asm__ volatile("csrw mtvec, %0\n\tcsrs mie, %1\n\tcsrs mcounteren, %2" : : "r"(jumplabel_riscv_entry), "r"(8), "r"(2) : "memory");
}

JUMPLABEL_C_END_

#endif
