/* Backends that are called: which registers are kept, and how a call is unwound. Operations that are static calls. */
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <jumplabel.h>

#include "checked.h"

/* A function that is not inlined, has its own frame, and exists once. */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

/* ---- Operations that are static calls, all or nothing with the table ---------------------------------------------- */

static int one(int x)
{
	return x + 1;
}

static int two(int x)
{
	return x + 2;
}

static int three(int x)
{
	return x + 3;
}

static void started(int *x)
{
	*x = 7;
}

DEFINE_STATIC_CALL(step, one);
DEFINE_STATIC_CALL_NULL(start, started);
DEFINE_PV_OPS_WITH_CALLS(table, 3,
			 PV_STATIC_CALL(step, one, two, three),
			 PV_STATIC_CALL(start, NULL, started, NULL));
/* The second call may not be set to NULL, as backend 1 wants it. */
DEFINE_STATIC_CALL(must, one);
DEFINE_STATIC_CALL(other, one);
DEFINE_PV_OPS_WITH_CALLS(unfit, 2, PV_STATIC_CALL(other, one, two), PV_STATIC_CALL(must, one, NULL));

static void calls(int backend)
{
	static const int first[] = { 0, 7, 0 };
	int x = 0;

	CHECK(static_call(step)(10) == 11 + backend);
	static_call_cond(start)(&x);
	CHECK(x == first[backend]);
}

/* ---- Hooks of backends -------------------------------------------------------------------------------------------- */

DECLARE_PV_OPS(hooked, 3);

static int prepared, threads;

static void prepare(void)
{
	CHECK(pv_ops_query(hooked) == 0); /* The hook runs before anything changes. */
	prepared++;
}

static void thread_start(void)
{
	threads++;
}

static void thread_exit(void)
{
	threads += 10;
}

static const struct pv_hooks hooks[3] = { { NULL, NULL, NULL }, { prepare, thread_start, thread_exit }, { NULL, thread_start, NULL } };
DEFINE_STATIC_CALL(led, one);
DEFINE_PV_OPS_WITH_HOOKS(hooked, 3, hooks, PV_STATIC_CALL(led, one, two, three));
DEFINE_PV_OPS_WITH_HOOKS(only_hooked, 3, hooks);

static void hooks_of_backends(void)
{
	struct pv_thread native, thread, other;

	prepared = threads = 0;
	native = pv_ops_thread_start(hooked);
	CHECK(threads == 0 && pv_ops_set(hooked, 1) == 0 && prepared == 1 && static_call(led)(1) == 3);
	thread = pv_ops_thread_start(hooked);
	CHECK(threads == 1 && pv_ops_set(hooked, 2) == 0 && static_call(led)(1) == 4);
	other = pv_ops_thread_start(hooked);
	CHECK(threads == 2 && pv_ops_native(hooked) == 0 && static_call(led)(1) == 2);
	pv_ops_thread_exit(other);
	CHECK(threads == 2);
	pv_ops_thread_exit(thread);
	pv_ops_thread_exit(native);
	CHECK(threads == 12 && prepared == 1);
	CHECK(pv_ops_set(hooked, 3) == -EINVAL && pv_ops_set(hooked, -1) == -EINVAL && prepared == 1);
	prepared = 0;
	CHECK(pv_ops_set(only_hooked, 1) == 0 && prepared == 1 && pv_ops_native(only_hooked) == 0);
}

/* ---- Backends that are called ------------------------------------------------------------------------------------- */

static void *frames[64], *caller;
static int depth;

/* Writes all registers that a function may change. */
APART static void scratch(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		__asm__ __volatile__("vpternlogd $255, %%zmm17, %%zmm17, %%zmm17\n\tkxnorw %%k1, %%k1, %%k1" ::: "memory");
	if (__builtin_cpu_supports("avx"))
		__asm__ __volatile__("vzeroall" ::: "memory");
	/* The x87 stack is empty. The root of 3 is inexact, which sets a flag in MXCSR. */
	__asm__ __volatile__("emms\n\tmovl $3, %%eax\n\tcvtsi2ss %%eax, %%xmm5\n\tsqrtss %%xmm5, %%xmm5" ::: "eax", "xmm5");
	__asm__ __volatile__("xorl %%eax, %%eax\n\tmovl $-1, %%ecx\n\tmovl $-1, %%edx\n\tmovl $-1, %%esi\n\tmovl $-1, %%edi\n\t"
			     "movl $-1, %%r8d\n\tmovl $-1, %%r9d\n\tmovl $-1, %%r10d\n\tmovl $-1, %%r11d\n\txorps %%xmm5, %%xmm5"
			     ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm5", "cc");
#endif
}

static unsigned long sum(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e, unsigned long f)
{
	char aligned[64] __attribute__((aligned(16)));

	CHECK(((uintptr_t)aligned & 15) == 0);
	depth = backtrace(frames, 64);
	scratch();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

static unsigned long first(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e, unsigned long f)
{
	(void)b, (void)c, (void)d, (void)e, (void)f;
	return a;
}

/* In backend 2, odd numbers take the slow way. */
static inline unsigned long six(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e, unsigned long f)
{
	PV_OP_INOUT(table, six, (a, b, c, d, e, f),
		    PV_NOTHING,
		    PV_CALL(sum),
		    PV_IN_PLACE_ELSE_CALL(first, "test $1, %b[a]\n\tjnz " PV_SLOW_WAY));
	return a;
}

static unsigned long answer(void)
{
	scratch();
	return 42;
}

static inline unsigned long ask(void)
{
	unsigned long result = 0;

	PV_OP_RESULT(result, table, ask, (),
		     PV_IN_PLACE(answer, "{movq $42, %[ret]|mov %[ret], 42}"), PV_CALL(answer), PV_CALL(answer));
	return result;
}

/* A function without a frame may keep values below the stack pointer. */
static int asked;

static void note(int x)
{
	asked = x;
	scratch();
}

__attribute__((always_inline)) static inline void noted(int x)
{
	PV_OP(table, noted, (x), PV_NOTHING, PV_CALL(note), PV_CALL(note));
}

APART static int leaf(int x)
{
	volatile int below[20];

	for (int i = 0; i < 20; i++)
		below[i] = x + i;
	noted(x);
	for (int i = 0; i < 20; i++)
		if (below[i] != x + i)
			return -1;
	return below[7];
}

APART static unsigned long calls_six(unsigned long a)
{
	unsigned long result;

	caller = __builtin_return_address(0);
	result = six(a, 20, 300, 4000, 50000, 600000);
	__asm__ __volatile__("" ::: "memory");
	return result + 1;
}

#if defined(__x86_64__) && !defined(JUMPLABEL_FALLBACK)

/* All registers that are not the operation's must keep their values. */
static void registers(void)
{
	unsigned char vectors[2][64];
	unsigned long mask = 0x5a5a, kept = 0;
	bool avx = __builtin_cpu_supports("avx"), wide = __builtin_cpu_supports("avx512f");

#define GENERAL(m) m(rax, 1) m(rcx, 2) m(rdx, 3) m(rsi, 4) m(rdi, 5) m(r8, 6) m(r9, 7) m(r10, 8) m(r11, 9)
#define HOLDS(name, n) register unsigned long name __asm__(#name) = n * 0x1111111111111111UL;
#define HELD(name, n) __asm__ __volatile__("" : "+r"(name));
#define IS_HELD(name, n) held += name == n * 0x1111111111111111UL;
	{
		int held = 0;
		GENERAL(HOLDS)

		GENERAL(HELD)
		noted(3);
		GENERAL(HELD)
		GENERAL(IS_HELD)
		CHECK(held == 9 && asked == 3);
	}
	for (int i = 0; i < 64; i++)
		vectors[0][i] = (unsigned char)(i * 7 + 1);
	memset(vectors[1], 0, 64);
	if (wide)
		__asm__ __volatile__("vmovdqu64 %0, %%zmm17\n\tkmovw %k1, %%k1" :: "m"(vectors[0]), "r"(mask));
	else if (avx)
		__asm__ __volatile__("vmovdqu %0, %%ymm5" :: "m"(vectors[0]));
	else
		__asm__ __volatile__("movdqu %0, %%xmm5" :: "m"(vectors[0]));
	noted(4);
	if (wide)
		__asm__ __volatile__("vmovdqu64 %%zmm17, %0\n\tkmovw %%k1, %k1" : "=m"(vectors[1]), "=r"(kept));
	else if (avx)
		__asm__ __volatile__("vmovdqu %%ymm5, %0" : "=m"(vectors[1]));
	else
		__asm__ __volatile__("movdqu %%xmm5, %0" : "=m"(vectors[1]));
	CHECK(!memcmp(vectors[0], vectors[1], wide ? 64 : avx ? 32 : 16) && (!wide || kept == mask));
	CHECK(asked == 4);
	if (avx) {
		unsigned char low[2][32];

		memcpy(low[0], vectors[0], 32);
		__asm__ __volatile__("vmovdqu %0, %%ymm5" :: "m"(low[0]));
		noted(5);
		__asm__ __volatile__("vmovdqu %%ymm5, %0" : "=m"(low[1]));
		CHECK(!memcmp(low[0], low[1], 32));
	}
}

/* The operation, as a function. */
APART static void notes(int x)
{
	noted(x);
}

/* The parts of the state that a call of `function` keeps: xmm5 (1), MXCSR (2), a value in x87 (4). The upper halves of vectors are not in use. */
static int kept_by(void (*function)(int))
{
	unsigned char low[2][16];
	unsigned int modes[2] = { 0x7f80, 0 }, usual;
	long double pi = 0;
	int kept;

	memset(low[0], 0x5a, 16);
	if (__builtin_cpu_supports("avx"))
		__asm__ __volatile__("vzeroupper" ::: "memory");
	__asm__ __volatile__("stmxcsr %0\n\tldmxcsr %1\n\tmovdqu %2, %%xmm5" : "=m"(usual) : "m"(modes[0]), "m"(low[0]));
	function(6);
	__asm__ __volatile__("movdqu %%xmm5, %0\n\tstmxcsr %1\n\tldmxcsr %2" : "=m"(low[1]), "=m"(modes[1]) : "m"(usual));
	kept = (memcmp(low[0], low[1], 16) == 0) | (modes[0] == modes[1]) << 1;
	__asm__ __volatile__("fldpi");
	function(7);
	__asm__ __volatile__("fstpt %0\n\temms" : "=m"(pi));
	return kept | (pi == 3.14159265358979323846L) << 2;
}

/* True if the backtrace has `function`, followed by its caller. */
static bool came_from(uintptr_t function)
{
	for (int i = 1; i < depth; i++)
		if (frames[i] == caller && (uintptr_t)frames[i - 1] - function < 512)
			return true;
	return false;
}

/* The handler of a signal that comes in the middle of an arm. */
static void caught(int signal)
{
	(void)signal;
	depth = backtrace(frames, 64);
}

static void nothing(void)
{
}

DEFINE_PV_OPS(trapping, 2);

static inline void trap(void)
{
	PV_OP(trapping, trap, (), PV_NOTHING, PV_IN_PLACE(nothing, ".skip 40, 0x90\n\tint3\n\tnop"));
}

APART static void calls_trap(void)
{
	caller = __builtin_return_address(0);
	trap();
	__asm__ __volatile__("" ::: "memory");
}

static void unwinding(void)
{
	signal(SIGTRAP, caught);
	CHECK(pv_ops_native(trapping) == 0);
	depth = 0;
	calls_trap();
	CHECK(depth == 0 && pv_ops_set(trapping, 1) == 0);
	calls_trap();
	CHECK(came_from((uintptr_t)calls_trap));
	depth = 0;
	CHECK(calls_six(1) == 3866942 && came_from((uintptr_t)calls_six));
}

#endif

int main(void)
{
	calls(0);
	CHECK(calls_six(1) == 2 && ask() == 42 && leaf(5) == 12 && asked == 0);
	for (int time = 0; time < 3; time++) {
		CHECK(pv_ops_set(table, 1) == 0 && pv_ops_query(table) == 1);
		calls(1);
		CHECK(calls_six(1) == 3866942 && ask() == 42 && leaf(5) == 12 && asked == 5);
#if defined(__x86_64__) && !defined(JUMPLABEL_FALLBACK)
		registers();
		/* The broken twin: a call of the function itself keeps less. */
		CHECK(kept_by(notes) == 7 && kept_by(note) == 0);
		unwinding();
#endif
		CHECK(pv_ops_set(table, 2) == 0);
		calls(2);
		CHECK(calls_six(1) == 2 && calls_six(2) == 3 && ask() == 42 && leaf(6) == 13 && asked == 6);
		CHECK(pv_ops_native(table) == 0);
		calls(0);
		asked = 0;
	}
	CHECK(pv_ops_set(table, 3) == -EINVAL && pv_ops_set(table, -1) == -EINVAL);
	calls(0);
	/* All or nothing: the other call and the table stay as they are. */
	CHECK(pv_ops_set(unfit, 1) == -EINVAL && pv_ops_query(unfit) == 0 && static_call(other)(1) == 2);
	CHECK(pv_ops_set(unfit, 0) == 0);
	hooks_of_backends();
	hooks_of_backends();
	CHECK(pv_ops_seal(table) == 0 && pv_ops_set(table, 1) == -EROFS);
	calls(0);
	printf("ok %d\n", checks);
	return 0;
}
