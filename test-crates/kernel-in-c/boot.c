/* Boots the glue of docs/kernels.md ("What is ready-made") without firmware, on four harts that all run from reset. Hart 0 flips a key while the
   other harts compare its sites with its state. Text is not writable: the library maps it a second time. The timer shares the interrupt of
   requests. */
#include <jumplabel/riscv.h>

void keys_start(void), keys_online(void);

enum { HARTS = 4, FLIPS = 100, TICK = 10000, READ = 2, WRITE = 4, EXECUTE = 8 };

static DEFINE_STATIC_KEY_FALSE(trace);

/* For each hart: memory of its handlers in machine mode. The first 16 bytes are the library's; word 5 has the address of the timer's register. */
uint64_t of_handlers[HARTS][8];
_Alignas(16) char stacks[HARTS][1 << 14];
static volatile unsigned int epoch, stale, compared, online = 1, last[HARTS], ticks[HARTS], answers[HARTS];
static volatile bool let_go;

static _Noreturn void end(uint32_t word)
{
	for (;;)
		*(volatile uint32_t *)0x100000 = word;
}

static void print(const char *text)
{
	while (*text)
		*(volatile char *)0x10000000 = *text++;
}

/* Tables of Sv39. Each address is its own: devices, and 2 MiB of memory that begin with the image, in pages. */
static _Alignas(4096) uint64_t root[512], middle[512], pages[512];

static void translate(void)
{
	extern char __text[], __text_end[];
	uintptr_t at;

	for (at = 0; at < 512; at++) {
		uintptr_t page = 0x80000000 + (at << 12);
		bool is_text = page >= (uintptr_t)__text && page < (uintptr_t)__text_end;

		pages[at] = page >> 2 | 0xc1 | READ | (is_text ? EXECUTE : WRITE);
	}
	root[0] = 0xc1 | READ | WRITE;
	root[2] = (uintptr_t)middle >> 2 | 1;
	middle[0] = (uintptr_t)pages >> 2 | 1;
}

static __attribute__((noinline)) bool is_on(void)
{
	return static_branch_unlikely(&trace);
}

static size_t hart(void)
{
	return jumplabel_riscv_tp();
}

void trap(uintptr_t cause)
{
	if (cause != (1UL << 63 | 1)) {
		print("a trap\n");
		end(0x13333);
	}
	if (jumplabel_riscv_acknowledge())
		ticks[hart()]++;
	jumplabel_kernel_answer();
	answers[hart()]++;
}

static void flip(unsigned int number)
{
	epoch = 2 * number - 1;
	if (number & 1 ? jumplabel_enable(&trace.key) : jumplabel_disable(&trace.key))
		end(0x23333);
	epoch = 2 * number;
	if (is_on() != (number & 1))
		end(0x33333);
}

static void first(void)
{
	unsigned int number, other;

	keys_start();
	flip(1);
	let_go = true;
	while (online != HARTS)
		;
	for (number = 2; number <= FLIPS; number++) {
		flip(number);
		for (other = 1; other < HARTS; other++)
			while (last[other] != 2 * number)
				;
	}
	for (other = 0; other < HARTS; other++)
		while (!ticks[other] || (other && !answers[other]))
			;
	print(stale ? "stale\n" : "flipped beside three harts\n");
	end(stale || compared < (HARTS - 1) * (FLIPS - 1) ? 0x43333 : 0x5555);
}

static void other(void)
{
	while (!let_go)
		;
	keys_online();
	__atomic_fetch_add(&online, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		unsigned int before = __atomic_load_n(&epoch, __ATOMIC_SEQ_CST);
		bool on = is_on();

		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (before & 1 || epoch != before)
			continue;
		__atomic_fetch_add(&compared, 1, __ATOMIC_SEQ_CST);
		if (on != (before >> 1 & 1))
			__atomic_fetch_add(&stale, 1, __ATOMIC_SEQ_CST);
		last[hart()] = before;
	}
}

void supervisor_mode(void)
{
	extern char trap_entry[];

	__asm__ volatile("sfence.vma\n\tcsrw satp, %0\n\tsfence.vma" : : "r"(8UL << 60 | (uintptr_t)root >> 12) : "memory");
	__asm__ volatile("csrw stvec, %0\n\tcsrs sie, %1\n\tcsrsi sstatus, 2" : : "r"(trap_entry), "r"(2) : "memory");
	if (!hart())
		first();
	other();
}

void machine_mode(void)
{
	volatile uint64_t *timer = (volatile uint64_t *)0x2004000 + hart();

	/* All harts store the same entries. */
	translate();
	of_handlers[hart()][5] = (uintptr_t)timer;
	*timer = *(volatile uint64_t *)0x200bff8 + TICK;
	__asm__ volatile("csrw pmpaddr0, %0\n\tcsrw pmpcfg0, %1\n\tcsrw medeleg, %2\n\tcsrw mideleg, %3\n\tcsrw mscratch, %4\n\tcsrw mie, %5" : :
		"r"(~0UL >> 10), "r"(0xf), "r"(0xffff), "r"(0x222), "r"(of_handlers[hart()]), "r"(0x80) : "memory");
	jumplabel_riscv_forward();
	__asm__ volatile("csrc mstatus, %0\n\tcsrs mstatus, %1\n\tcsrw mepc, %2\n\tmret" : :
		"r"(3 << 11), "r"(1 << 11), "r"(supervisor_mode) : "memory");
	__builtin_unreachable();
}

__asm__(".pushsection .text.start, \"ax\"\n"
	".globl start\n"
	"start: csrr tp, mhartid\n"
	"addi t0, tp, 1\n"
	"slli t0, t0, 14\n"
	"la sp, stacks\n"
	"add sp, sp, t0\n"
	"tail machine_mode\n"
	".balign 4\n"
	".globl timer_entry\n"
	"timer_entry: csrrw a0, mscratch, a0\n"
	"sd a1, 16(a0)\n"
	"sd a2, 24(a0)\n"
	"sd a3, 32(a0)\n"
	"ld a1, 40(a0)\n"
	"ld a2, (a1)\n"
	"li a3, 10000\n"
	"add a2, a2, a3\n"
	"sd a2, (a1)\n"
	"csrsi mip, 2\n"
	"ld a1, 16(a0)\n"
	"ld a2, 24(a0)\n"
	"ld a3, 32(a0)\n"
	"csrrw a0, mscratch, a0\n"
	"mret\n"
	".balign 4\n"
	"trap_entry: addi sp, sp, -128\n"
	".irp number, 0,1,2,3,4,5,6,7; sd a\\number, 8 * \\number(sp); .endr\n"
	".irp number, 0,1,2,3,4,5,6; sd t\\number, 64 + 8 * \\number(sp); .endr\n"
	"sd ra, 120(sp)\n"
	"csrr a0, scause\n"
	"call trap\n"
	".irp number, 0,1,2,3,4,5,6,7; ld a\\number, 8 * \\number(sp); .endr\n"
	".irp number, 0,1,2,3,4,5,6; ld t\\number, 64 + 8 * \\number(sp); .endr\n"
	"ld ra, 120(sp)\n"
	"addi sp, sp, 128\n"
	"sret\n"
	".popsection");
