/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The platform of a kernel: static keys, static calls and tables of operations without an operating system. The headers need only <stdbool.h>,
 * <stddef.h> and <stdint.h>, so compile with -ffreestanding. docs/kernels.md has a whole kernel, the rules, and their reasons.
 *
 *     static const struct jumplabel_machine machine = { .cpu = cpu, .interrupts_off = ..., };
 *     static const struct jumplabel_bounds bounds = { ... };      addresses from the linker's script
 *
 *     jumplabel_kernel_start(&machine, &bounds);                  on the boot CPU, before the first flip
 *     static_branch_enable(&trace);
 *     jumplabel_kernel_online(notify, NULL);                      on each further CPU, before it runs a site
 *
 * Build the library like this. It has room for 64 CPUs (32 on a 32-bit machine) and 16 pages of 4 KiB for its lists; set JUMPLABEL_KERNEL_CPUS and
 * JUMPLABEL_KERNEL_PAGES during the build for other numbers.
 *
 *     cargo rustc --release -p jumplabel-capi --lib --crate-type staticlib --no-default-features --features kernel-alone --target TARGET
 *
 * A kernel has no tracepoints and no deferred keys. Without jumplabel_set_warn(), warnings are lost.
 */
#ifndef JUMPLABEL_KERNEL_H
#define JUMPLABEL_KERNEL_H

#include "../jumplabel.h"

JUMPLABEL_C_BEGIN_

/* The functions that a kernel gives. None may have sites, or take a lock that a CPU may hold while it flips. The last five may be NULL or 0. */
struct jumplabel_machine {
	/* The number of the CPU that calls: below JUMPLABEL_KERNEL_CPUS. */
	size_t (*cpu)(void);
	/* Turns interrupts off on this CPU. Returns the value with which `restore` makes them as they were. */
	uint64_t (*interrupts_off)(void);
	void (*restore)(uint64_t _interrupts);
	/* Interrupts another CPU, whose handler then calls jumplabel_kernel_answer(). Also ends that CPU's `wait`. */
	void (*interrupt)(size_t _cpu);
	/* Makes this CPU forget instructions that it has fetched ahead: fence.i, isb, cpuid. */
	void (*serialise)(void);
	/* Finds an address at which this CPU can write the text at `_address`, and the rest of its page, until `unmap`. Two such addresses, for two adjacent
	   pages, can be in use at a time. Returns 0, or an errno: then the flip is undone. */
	int (*map)(uintptr_t _address, uintptr_t *_alias);
	/* A running clock. */
	uint64_t (*nanoseconds)(void);
	/* Waits a little, or until another CPU interrupts this one. A CPU that stands still calls it, with interrupts off. NULL: `relax` is called. */
	void (*wait)(void);
	/* Lets others have the processor, and returns by itself: pause, or a call of the hypervisor that yields. A CPU calls it in each turn of a loop in
	   which it waits for others. Interrupts may be off. */
	void (*relax)(void);
	void (*unmap)(uintptr_t _alias);
	/* Makes the bytes that were written to `_address` through `_alias` visible to the fetches of all CPUs that serialise from now on. */
	void (*clean)(uintptr_t _address, uintptr_t _alias, size_t _bytes);
	/* The nanoseconds that a rendezvous waits for a CPU: longer than any CPU keeps its interrupts off. 0: a second. */
	uint64_t patience;
};

/* The addresses of an object, the kernel or a module: of its code, and of all of it, including tables and data. */
struct jumplabel_bounds {
	uintptr_t code, code_end, start, end;
};

/* Call this once, on the boot CPU, before the first flip, and before another CPU runs. The machine must stay. Returns 0, or -EINVAL: a function is
   missing, the CPU's number is too high, or the bounds are not in order. -EBUSY: it succeeded before; the first machine and bounds stay. */
int jumplabel_kernel_start(const struct jumplabel_machine *_machine, const struct jumplabel_bounds *_bounds);
/* Brings this CPU online: it serialises, and flips stop it from now on. `_notify`, if not NULL, is called with the lock held; it may flip with the
   _cpuslocked forms, and cannot release the lock: jump_label_unlock() warns there. Returns 0, or a negative
   errno; -EINVAL: its number is not below JUMPLABEL_KERNEL_CPUS, so no flip would stop it. */
int jumplabel_kernel_online(void (*_notify)(void *_data), void *_data);
/* Takes this CPU offline: it must not run a site until jumplabel_kernel_online(). */
int jumplabel_kernel_offline(void);
/* Call this before code is freed that runs only while the system starts: its sites are then not written any more. Once for the kernel, and once for
   each module. No static call may lead there. Returns 0, or a negative errno; -EINVAL: this is not code of one object, or not the first time. */
int jumplabel_kernel_free(uintptr_t _from, uintptr_t _to);
/* Acknowledges orders of a CPU that flips. The handler of `interrupt` calls it, with interrupts off. */
void jumplabel_kernel_answer(void);
/* No flip can begin any more: from now on it is refused with -ENOSYS. */
void jumplabel_kernel_end(void);
/* The CPU that did not answer a flip in time, the last time that this happened; or -1. */
intptr_t jumplabel_kernel_late(void);
/* Call these before the constructors of a module run, and after its destructors have run. -EINVAL: the bounds are not in order, or it overlaps
   another module or the kernel; -ENOMEM: there are 16 modules. */
int jumplabel_kernel_load(const struct jumplabel_bounds *_bounds);
void jumplabel_kernel_unload(const struct jumplabel_bounds *_bounds);

JUMPLABEL_C_END_

#endif
