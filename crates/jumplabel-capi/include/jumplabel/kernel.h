/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The platform of a kernel, for static keys, static calls and tables of operations without an operating system. The headers need nothing
 * but <stdbool.h>, <stddef.h> and <stdint.h>: compile with -ffreestanding. docs/kernels.md has a whole kernel, the rules, and why.
 *
 *     static const struct jumplabel_machine machine = { .cpu = cpu, .interrupts_off = ..., };
 *     static const struct jumplabel_bounds bounds = { ... };      by the linker's script
 *
 *     jumplabel_kernel_start(&machine, &bounds);                  on the boot CPU, before the first flip
 *     static_branch_enable(&trace);
 *     jumplabel_kernel_online(notify, NULL);                      on each CPU that comes, before it runs a site
 *
 * The library, with room for 64 CPUs (32 on a 32-bit machine) and 16 pages of 4 KiB for its lists (JUMPLABEL_KERNEL_CPUS and _PAGES, when it
 * is built, say otherwise):
 *
 *     cargo rustc --release -p jumplabel-capi --lib --crate-type staticlib --no-default-features --features kernel-alone --target TARGET
 *
 * There are no tracepoints and no deferred keys. Without jumplabel_set_warn() nobody sees what Linux says with a WARN.
 */
#ifndef JUMPLABEL_KERNEL_H
#define JUMPLABEL_KERNEL_H

#include "../jumplabel.h"

JUMPLABEL_C_BEGIN_

/* What a kernel gives. No function may have sites, or take a lock that somebody holds who flips. The last five may be NULL, or 0. */
struct jumplabel_machine {
	/* The number of the CPU that calls: below JUMPLABEL_KERNEL_CPUS. */
	size_t (*cpu)(void);
	/* Turns interrupts off on this CPU; returns what `restore` needs to make them what they were. */
	uint64_t (*interrupts_off)(void);
	void (*restore)(uint64_t _interrupts);
	/* Interrupts another CPU: its handler calls jumplabel_kernel_answer(). Also ends its `wait`. */
	void (*interrupt)(size_t _cpu);
	/* Makes this CPU forget what it has fetched ahead: fence.i, isb, cpuid. */
	void (*serialise)(void);
	/* An address at which the byte of text at `address`, and the rest of its page, can be written by this CPU, until `unmap`. Two may be
	   in use at a time, of pages that follow each other. 0, or an errno:
	   the flip is undone. */
	int (*map)(uintptr_t _address, uintptr_t *_alias);
	/* A clock that runs. */
	uint64_t (*nanoseconds)(void);
	/* A CPU that stands still, with interrupts off: waits a little, or until another CPU interrupts this one. NULL: `relax`. */
	void (*wait)(void);
	/* In each turn of a loop in which a CPU waits for others: the one that flips, or one that wants to. Lets others have the processor, and
	   returns by itself: pause, or a call of the hypervisor that yields. Interrupts may be off. */
	void (*relax)(void);
	void (*unmap)(uintptr_t _alias);
	/* What was written at `address` by way of `alias` reaches the fetches of all CPUs that serialise from now on. */
	void (*clean)(uintptr_t _address, uintptr_t _alias, size_t _bytes);
	/* How many nanoseconds a rendezvous waits for a CPU: longer than any has its interrupts off. 0: a second. */
	uint64_t patience;
};

/* Where an object lies, the kernel or a module: its code, and all of it, tables and data, too. */
struct jumplabel_bounds {
	uintptr_t code, code_end, start, end;
};

/* On the boot CPU, before the first flip, and before another CPU runs. Both stay. 0, or -EINVAL: a function is missing, or bounds are not in
   order. */
int jumplabel_kernel_start(const struct jumplabel_machine *_machine, const struct jumplabel_bounds *_bounds);
/* This CPU comes: it serialises, and is stopped by flips from now on. `_notify`, which may be NULL, is called with the lock held: it flips by the
   _cpuslocked forms. 0, or a negative errno; -EINVAL: its number is not below JUMPLABEL_KERNEL_CPUS, so no flip would stop it. */
int jumplabel_kernel_online(void (*_notify)(void *_data), void *_data);
/* This CPU goes: it runs no site any more, until jumplabel_kernel_online(). */
int jumplabel_kernel_offline(void);
/* Before code is freed that runs only while the system starts: its sites are not written any more. Once for the kernel, and once for each module;
   no static call may lead there. 0, or a negative errno; -EINVAL: not code of one object, or not the first time. */
int jumplabel_kernel_free(uintptr_t _from, uintptr_t _to);
/* What the handler of `interrupt` calls, with interrupts off. */
void jumplabel_kernel_answer(void);
/* No flip may write any more: -ENOSYS from now on. */
void jumplabel_kernel_end(void);
/* The CPU that a flip waited for in vain last, or -1. */
intptr_t jumplabel_kernel_late(void);
/* Before the constructors of a module run; after its destructors have run. -EINVAL, or -ENOMEM: there are 16 modules. */
int jumplabel_kernel_load(const struct jumplabel_bounds *_bounds);
void jumplabel_kernel_unload(const struct jumplabel_bounds *_bounds);

JUMPLABEL_C_END_

#endif
