/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Replaces a nop as a tracer does. On x86-64, it writes a call, as kernels from 6.18 on do. With BREAKPOINT, and on other processors, it writes a
 * breakpoint. usdt_seen() then gets the registers.
 */
#ifndef USDT_NOP_H
#define USDT_NOP_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
struct registers;
void usdt_call(void);
#ifndef __clang__
__attribute__((__externally_visible__))
#endif
__attribute__((__used__)) void usdt_seen(const struct registers *registers);
#ifdef __cplusplus
}
#endif

static void fail(const char *what, const char *where)
{
	printf("%s: %s\n", what, where);
	exit(1);
}

#ifdef __x86_64__

static const char *const names[16][4] = {
	{ "rax", "eax", "ax", "al" },	 { "rbx", "ebx", "bx", "bl" },	  { "rcx", "ecx", "cx", "cl" },
	{ "rdx", "edx", "dx", "dl" },	 { "rsi", "esi", "si", "sil" },	  { "rdi", "edi", "di", "dil" },
	{ "rbp", "ebp", "bp", "bpl" },	 { "r8", "r8d", "r8w", "r8b" },	  { "r9", "r9d", "r9w", "r9b" },
	{ "r10", "r10d", "r10w", "r10b" }, { "r11", "r11d", "r11w", "r11b" }, { "r12", "r12d", "r12w", "r12b" },
	{ "r13", "r13d", "r13w", "r13b" }, { "r14", "r14d", "r14w", "r14b" }, { "r15", "r15d", "r15w", "r15b" },
	{ "rsp", "esp", "sp", "spl" },
};

/* Writes through /proc/self/mem, as tools do. */
static void poke(uint64_t address, const void *bytes, size_t size)
{
	int memory = open("/proc/self/mem", O_WRONLY);

	if (pwrite(memory, bytes, size, (off_t)address) != (ssize_t)size)
		fail("cannot write", "/proc/self/mem");
	close(memory);
}

/* BREAKPOINT: for nops of one byte, like those of <sys/sdt.h>. */
#ifdef BREAKPOINT

#include <signal.h>
#include <ucontext.h>

struct registers {
	uint64_t all[16];
};
static const unsigned char nop[1] = { 0x90 };

static void trapped(int signal, siginfo_t *info, void *context)
{
	static const int order[16] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8,
				       REG_R9,	REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RSP };
	struct registers registers;

	(void)signal, (void)info;
	for (int number = 0; number < 16; number++)
		registers.all[number] = (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[order[number]];
	usdt_seen(&registers);
}

static void hook(uint64_t address)
{
	static const unsigned char breakpoint[1] = { 0xcc };
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = trapped;
	action.sa_flags = SA_SIGINFO;
	if (sigaction(SIGTRAP, &action, 0))
		fail("no handler", "SIGTRAP");
	poke(address, breakpoint, 1);
}

#define USDT_STACK_POINTER(registers) ((registers)->all[15])

#else

/* In the order in which usdt_call pushes them. */
struct registers {
	uint64_t all[15], flags, ret;
};
static const unsigned char nop[5] = { 0x0f, 0x1f, 0x44, 0, 0 };

__asm__(".text\n"
	".globl usdt_call\n"
	"usdt_call:\n"
	"pushfq; push %r15; push %r14; push %r13; push %r12; push %r11; push %r10; push %r9; push %r8\n"
	"push %rbp; push %rdi; push %rsi; push %rdx; push %rcx; push %rbx; push %rax\n"
	"cld; mov %rsp,%rdi; mov %rsp,%rbx; and $-16,%rsp; sub $512,%rsp; fxsave64 (%rsp)\n"
	"call usdt_seen\n"
	"fxrstor64 (%rsp); mov %rbx,%rsp\n"
	"pop %rax; pop %rbx; pop %rcx; pop %rdx; pop %rsi; pop %rdi; pop %rbp\n"
	"pop %r8; pop %r9; pop %r10; pop %r11; pop %r12; pop %r13; pop %r14; pop %r15; popfq\n"
	"ret\n");

static void hook(uint64_t address)
{
	unsigned char call[5] = { 0xe8 };
	int64_t distance = (int64_t)(uintptr_t)&usdt_call - (int64_t)(address + 5);

	if (distance != (int32_t)distance)
		fail("too far", "the call");
	memcpy(call + 1, &distance, 4);
	poke(address, call, 5);
}

#define USDT_STACK_POINTER(registers) ((uint64_t)(uintptr_t)((registers) + 1))

#endif

static uint64_t of_register(const struct registers *registers, const char *name, size_t length)
{
	for (int number = 0; number < 16; number++)
		for (int size = 0; size < 4; size++)
			if (strlen(names[number][size]) == length && !memcmp(names[number][size], name, length))
				return number < 15 ? registers->all[number] : USDT_STACK_POINTER(registers);
	fail("no register", name);
	return 0;
}

#else

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

struct registers {
	uint64_t all[32];
};

#ifdef __aarch64__
static const unsigned char nop[4] = { 0x1f, 0x20, 0x03, 0xd5 }, breakpoint[4] = { 0, 0, 0x20, 0xd4 };

/* x0 to x30, and sp. */
static int number_of(const char *name)
{
	return *name == 's' ? 31 : atoi(name + 1);
}
#else
static const unsigned char nop[2] = { 1, 0 }, breakpoint[2] = { 0x02, 0x90 };

/* sp, a0 to a7, t0 to t6, s0 to s11. */
static int number_of(const char *name)
{
	int number = atoi(name + 1);

	switch (*name) {
	case 'a': return 10 + number;
	case 't': return number < 3 ? 5 + number : 25 + number;
	default: return name[1] == 'p' ? 2 : number < 2 ? 8 + number : 16 + number;
	}
}
#endif

static uint64_t hooked;

static uint64_t of_register(const struct registers *registers, const char *name, size_t length)
{
	char copy[4] = "";

	memcpy(copy, name, length < 3 ? length : 3);
	return registers->all[number_of(copy)];
}

static void trapped(int number, siginfo_t *info, void *data)
{
	mcontext_t *context = &((ucontext_t *)data)->uc_mcontext;
	struct registers registers;

	(void)number, (void)info;
#ifdef __aarch64__
	memcpy(registers.all, context->regs, sizeof(context->regs));
	registers.all[31] = context->sp;
	context->pc = hooked + sizeof(nop);
#else
	memcpy(registers.all, context->__gregs, sizeof(registers.all));
	context->__gregs[REG_PC] = hooked + sizeof(nop);
#endif
	usdt_seen(&registers);
}

/* Writes in a way that an emulator notices, too. */
static void poke(uint64_t address, const void *bytes, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		unsigned char *to = (unsigned char *)(uintptr_t)(address + at);

		if (mprotect((void *)((uintptr_t)to & ~4095ul), 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
			fail("cannot open", "code");
		*to = ((const unsigned char *)bytes)[at];
	}
	__builtin___clear_cache((char *)(uintptr_t)address, (char *)(uintptr_t)(address + size));
}

static void hook(uint64_t address)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = trapped;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &action, 0);
	hooked = address;
	poke(address, breakpoint, sizeof(breakpoint));
}

#endif

#endif
