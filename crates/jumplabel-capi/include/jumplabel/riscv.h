/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ready-made functions for struct jumplabel_machine on RISC-V (64 bits), for kernels that are as each function says. Take those that fit.
 *
 *     static const struct jumplabel_machine machine = {
 *         JUMPLABEL_RISCV_MACHINE, JUMPLABEL_RISCV_WINDOW, .cpu = jumplabel_riscv_tp, .interrupt = jumplabel_riscv_clint,
 *     };
 *
 * A kernel without firmware, where machine mode has the timer's interrupts and those of other harts, and supervisor mode gets both as one:
 *
 *     JUMPLABEL_RISCV_FORWARD(timervec)       makes jumplabel_riscv_entry, which forwards requests and hands all else on to timervec
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

/* The number that this hart keeps in tp: for `cpu`, if that is the hart's number. */
size_t jumplabel_riscv_tp(void);
/* sstatus.SIE. */
uint64_t jumplabel_riscv_interrupts_off(void);
void jumplabel_riscv_restore(uint64_t _interrupts);
/* fence.i */
void jumplabel_riscv_serialise(void);
/* rdtime, which machine mode must allow (mcounteren), at the 10 MHz of QEMU's virt. On a board whose time runs at another frequency, `patience` is
   as much shorter or longer. */
uint64_t jumplabel_riscv_nanoseconds(void);
/* wfi. Clears the software interrupt if it was a request's; the timer's stays. */
void jumplabel_riscv_wait(void);
#define JUMPLABEL_RISCV_MACHINE \
	.interrupts_off = jumplabel_riscv_interrupts_off, .restore = jumplabel_riscv_restore, .serialise = jumplabel_riscv_serialise, \
	.nanoseconds = jumplabel_riscv_nanoseconds, .wait = jumplabel_riscv_wait

/* While a write lasts, an entry of the root table that is 0 maps the memory around the text a second time, to read and write (Sv39: 1 GiB). The kernel
   runs at its physical addresses, and its tables lie where they can be written; nobody uses addresses of which the root's entry is 0. Without
   translation, text is written where it is. */
int jumplabel_riscv_map(uintptr_t _address, uintptr_t *_alias);
void jumplabel_riscv_unmap(uintptr_t _alias);
#define JUMPLABEL_RISCV_WINDOW .map = jumplabel_riscv_map, .unmap = jumplabel_riscv_unmap

/* For `interrupt`, by the firmware, or by the interrupt controller at 0x2000000 (CLINT, as QEMU's virt has it), which the kernel has mapped there.
   The numbers of CPUs are those of harts. */
void jumplabel_riscv_sbi(size_t _hart);
void jumplabel_riscv_clint(size_t _hart);

/* Clears the software interrupt: before jumplabel_kernel_answer(), so that a request that comes in between interrupts again. True if the timer
   of this hart has come, and not only a request. tp must have the hart's number. */
bool jumplabel_riscv_acknowledge(void);

/* Machine mode's handler, once for a kernel: jumplabel_riscv_entry. It clears requests of other harts, and forwards them as software interrupts of
   supervisor mode. All else goes on to `_next`, the kernel's own handler in machine mode, as if it came there: there each tick becomes a
   software interrupt as well; it is noted before. mscratch must point to a memory of this hart whose first 16 bytes `_next` does not need
   when it begins: handlers save registers there. `_next` must lie within 1 MiB. */
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
		"2: ld a1, 0(a0)\n" \
		"ld a2, 8(a0)\n" \
		"csrrw a0, mscratch, a0\n" \
		"j " #_next "\n" \
		".option pop\n" \
		".popsection")

extern char jumplabel_riscv_entry[];

/* Machine mode, on each hart, once mscratch is set: traps lead to jumplabel_riscv_entry, requests of other harts interrupt, and supervisor mode may
   read the time. */
static inline void jumplabel_riscv_forward(void)
{
	__asm__ volatile("csrw mtvec, %0\n\tcsrs mie, %1\n\tcsrs mcounteren, %2" : : "r"(jumplabel_riscv_entry), "r"(8), "r"(2) : "memory");
}

JUMPLABEL_C_END_

#endif
