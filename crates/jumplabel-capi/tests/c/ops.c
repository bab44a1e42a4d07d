/* A table of operations: each backend, each sort of operation, and refused changes. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checked.h"
#include "ops.h"

DEFINE_PV_OPS(events, 3);
DEFINE_PV_OPS(unfit, 2);
DEFINE_PV_OPS(eight, 8);

/* ---- Operations with a result, with an inout argument, with six arguments, with none ----------------------------- */

static unsigned long same(unsigned long value)
{
	return value;
}

static unsigned long negated(unsigned long value)
{
	return -value;
}

static unsigned long loaded(const unsigned long *place)
{
	return *place;
}

static unsigned long loaded_twice(const unsigned long *place)
{
	return *place + *place;
}

static inline unsigned long load(const unsigned long *place)
{
	unsigned long result = 0;

	PV_OP_RESULT(result, events, load, (place),
		     PV_IN_PLACE(loaded, PV_DISP32 "{movq (%[place]), %[ret]|mov %[ret], [%[place]]}"),
		     PV_IN_PLACE(loaded_twice, "{movq (%[place]), %[ret]|mov %[ret], [%[place]]}\n"
					       "{addq %[ret], %[ret]|add %[ret], %[ret]}"),
		     PV_IN_PLACE(loaded, "{movq (%[place]), %[ret]|mov %[ret], [%[place]]}"));
	return result;
}

static inline unsigned long make(unsigned long value)
{
	PV_OP_INOUT(events, make, (value),
		    PV_NOTHING,
		    PV_IN_PLACE(negated, "{negq %[value]|neg %[value]}"),
		    PV_IN_PLACE(same, ""));
	return value;
}

static unsigned long sum(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e, unsigned long f)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

static unsigned long first(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e, unsigned long f)
{
	(void)b, (void)c, (void)d, (void)e, (void)f;
	return a;
}

static inline unsigned long six(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e, unsigned long f)
{
	PV_OP_INOUT(events, six, (a, b, c, d, e, f),
		    PV_IN_PLACE(first, PV_DISP32 "{leaq (%[a]), %[a]|lea %[a], [%[a]]}"),
		    PV_IN_PLACE(sum, "{lea (%[a],%[b],2), %[a]|lea %[a], [%[a] + %[b] * 2]}\n"
				     "{lea (%[a],%[c],2), %[a]|lea %[a], [%[a] + %[c] * 2]}\n"
				     "{add %[c], %[a]|add %[a], %[c]}\n"
				     "{lea (%[a],%[d],4), %[a]|lea %[a], [%[a] + %[d] * 4]}\n"
				     "{lea (%[a],%[e],4), %[a]|lea %[a], [%[a] + %[e] * 4]}\n"
				     "{add %[e], %[a]|add %[a], %[e]}\n"
				     "{lea (%[a],%[f],4), %[a]|lea %[a], [%[a] + %[f] * 4]}\n"
				     "{lea (%[a],%[f],2), %[a]|lea %[a], [%[a] + %[f] * 2]}"),
		    PV_NOTHING);
	return a;
}

/* Only assembler text refers to it. */
#ifdef __clang__
__attribute__((used))
#else
__attribute__((used, externally_visible))
#endif
int ticks;

static void tick(void)
{
	ticks++;
}

static void tick_by_ten(void)
{
	ticks += 10;
}

/* The native instruction has an address that is relative to its own end. */
static inline void ticked(void)
{
	PV_OP(events, ticked, (),
	      PV_IN_PLACE(tick, "{lock incl ticks(%%rip)|lock inc dword ptr ticks[rip]}"),
	      PV_IN_PLACE(tick_by_ten, "{lock addl $10, ticks(%%rip)|lock add dword ptr ticks[rip], 10}"),
	      PV_NOTHING);
}

/* Native instructions of all lengths. */
static void nothing(void)
{
}

#define LENGTHS(m)                                                                                                     \
	m(5, "0x0f, 0x1f, 0x44, 0, 1") m(6, "0x66, 0x0f, 0x1f, 0x44, 0, 1") m(7, "0x0f, 0x1f, 0x80, 1, 0, 0, 0")       \
	m(8, "0x0f, 0x1f, 0x84, 0, 1, 0, 0, 0") m(9, "0x66, 0x0f, 0x1f, 0x84, 0, 1, 0, 0, 0")                          \
	m(10, "0x66, 0x66, 0x0f, 0x1f, 0x84, 0, 1, 0, 0, 0") m(11, "0x66, 0x66, 0x66, 0x0f, 0x1f, 0x84, 0, 1, 0, 0, 0")
#define OF_LENGTH(n, bytes)                                                                                            \
	PV_OP(events, of_length_##n, (), PV_IN_PLACE(nothing, ".byte " bytes), PV_IN_PLACE(nothing, ""), PV_NOTHING);

static void lengths(void)
{
	LENGTHS(OF_LENGTH)
}

/* A table with eight backends. */
#define ADDS(n)                                                                                                        \
	static unsigned long add##n(unsigned long x)                                                                   \
	{                                                                                                              \
		return x + n;                                                                                          \
	}
ADDS(1) ADDS(2) ADDS(3) ADDS(4) ADDS(5) ADDS(6) ADDS(7)
#define ADD(n) PV_IN_PLACE(add##n, "{addq $" #n ", %[x]|add %[x], " #n "}")

static unsigned long of_eight(unsigned long x)
{
	PV_OP_INOUT(eight, of_eight, (x), PV_NOTHING, ADD(1), ADD(2), ADD(3), ADD(4), ADD(5), ADD(6), ADD(7));
	return x;
}

#include "ops_text.h"

#ifdef IN_PLACE

/* Something else writes to a site of the table, and later restores it. */
static void foreign_byte(void)
{
	unsigned char *site = site_named("of_length_7"), old = site[4];
	uintptr_t page = (uintptr_t)site & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	unsigned number = 0;

	CHECK(mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	site[4] = 0xcc;
	CHECK(pv_ops_set(events, 1) == -EADDRINUSE && pv_ops_query(events) == 0);
	count(&number);
	CHECK(number == 1 && make(3) == 3);
	site[4] = old;
	CHECK(mprotect((void *)page, 8192, PROT_READ | PROT_EXEC) == 0);
	check_text(0);
	CHECK(pv_ops_set(events, 1) == 0 && pv_ops_native(events) == 0);
}

/* Two instructions, each of which would be allowed alone. */
static void refused(void)
{
	unsigned counter = 0;

	CHECK(pv_ops_set(unfit, 1) == -EINVAL && pv_ops_query(unfit) == 0);
	PV_OP(unfit, two, (), PV_IN_PLACE(nothing, "nop\nnop\nnop\nnop\nnop"), PV_NOTHING);
	count(&counter);
	CHECK(counter == 1);
}

/* Whole instructions change, which only the writer `remap` can do while other threads run. */
static void *waits(void *lock)
{
	pthread_mutex_lock((pthread_mutex_t *)lock);
	return NULL;
}

static void beside_a_thread(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	CHECK(pthread_create(&thread, NULL, waits, &lock) == 0);
	CHECK(jumplabel_set_writer("mprotect") == 0);
	CHECK(pv_ops_set(events, 1) == -EAGAIN && pv_ops_query(events) == 0);
	check_text(0);
	CHECK(jumplabel_set_writer("auto") == 0);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

#endif

static void each(int backend)
{
	static const unsigned counts[] = { 1, 2, 0 };
	static const int by[] = { 1, 10, 0 };
	unsigned counter = 0;
	unsigned long place = 21;
	int before = ticks;

	CHECK(pv_ops_query(events) == backend);
	check_text(backend);
	count(&counter);
	CHECK(counter == counts[backend]);
	elsewhere(&counter);
	CHECK(counter == 3 * counts[backend]);
	CHECK(load(&place) == (backend == 1 ? 42 : 21) && place == 21);
	CHECK(make(5) == (backend == 1 ? -5UL : 5));
	CHECK(six(1, 20, 300, 4000, 50000, 600000) == (backend == 1 ? 3866941UL : 1));
	ticked();
	CHECK(ticks == before + by[backend]);
	lengths();
}

int main(void)
{
	each(0);
	for (int from = 0; from < 3; from++) {
		for (int to = 0; to < 3; to++) {
			CHECK(pv_ops_set(events, from) == 0);
			each(from);
			CHECK(pv_ops_set(events, to) == 0);
			each(to);
		}
	}
	CHECK(pv_ops_set(events, 3) == -EINVAL && pv_ops_set(events, -1) == -EINVAL && pv_ops_set(events, 256) == -EINVAL);
	each(2);
	/* The mode in a table cannot be set as a mode. */
	CHECK(jumplabel_static_mode_set(&events.mode, 1) == -EINVAL);
	CHECK(jumplabel_ops_set(NULL, 1, NULL, 0) == -EINVAL && jumplabel_ops_seal(NULL) == -EINVAL);
	CHECK(pv_ops_native(events) == 0);
	each(0);
	for (unsigned long backend = 0; backend < 8; backend++) {
		CHECK(pv_ops_set(eight, (int)backend) == 0);
		CHECK(of_eight(100) == 100 + backend && pv_ops_query(eight) == (int)backend);
	}
#ifdef IN_PLACE
	foreign_byte();
	refused();
	beside_a_thread();
#endif
	CHECK(pv_ops_set(events, 1) == 0 && pv_ops_seal(events) == 0);
	CHECK(pv_ops_set(events, 2) == -EROFS && pv_ops_native(events) == -EROFS);
	each(1);
	printf("ok %d\n", checks);
	return 0;
}
