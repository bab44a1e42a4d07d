/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A lock whose operations are a table, as Linux's of 2009: natively a ticket lock, of which an acquisition is one locked instruction in
 * place; for a machine whose processors are not always there, a byte lock. crates/jumplabel-paravirt has the same in Rust, and the rest
 * of Linux's table.
 *
 *     cc -O2 paravirt.c -o paravirt -ljumplabel -lpthread
 *     ./paravirt [threads]
 *
 * Each backend in turn: the threads lock, count, unlock. The backend changes while nobody has the lock, because the two give its word
 * different meanings, and no thread runs, so that any writer may change the instructions.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jumplabel.h>

/* Ticket: who is served, and in the upper half who comes next. Byte: 1 is held, 2 is held and waited for. */
typedef uint32_t lock_word;

enum { TICKET = 1 << 16, EACH = 100000, MOST = 64 };
enum { NATIVE, BYTE, CALLED, BACKENDS };

/* ---- What each backend does, as functions ------------------------------------------------------------------------ */

static unsigned long ticket_enter(unsigned long ticket, lock_word *lock)
{
	return __atomic_fetch_add(lock, (lock_word)ticket, __ATOMIC_ACQUIRE);
}

static void ticket_leave(lock_word *lock)
{
	uint16_t *served = (uint16_t *)lock + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

	__atomic_store_n(served, (uint16_t)(*served + 1), __ATOMIC_RELEASE);
}

static void ticket_slow(lock_word *lock, unsigned long ticket)
{
	while ((uint16_t)__atomic_load_n(lock, __ATOMIC_ACQUIRE) != (uint16_t)(ticket >> 16))
		sched_yield();
}

static unsigned long byte_enter(unsigned long ticket, lock_word *lock)
{
	(void)ticket;
	return __atomic_exchange_n((unsigned char *)lock, 1, __ATOMIC_ACQUIRE);
}

static void byte_leave(lock_word *lock)
{
	__atomic_store_n((unsigned char *)lock, 0, __ATOMIC_RELEASE);
}

static void byte_slow(lock_word *lock, unsigned long ticket)
{
	(void)ticket;
	while (__atomic_exchange_n((unsigned char *)lock, 2, __ATOMIC_ACQUIRE) != 0)
		sched_yield();
}

/* ---- The table ---------------------------------------------------------------------------------------------------- */

DEFINE_STATIC_CALL(slow, ticket_slow);
DEFINE_PV_OPS_WITH_CALLS(locks, BACKENDS, PV_STATIC_CALL(slow, ticket_slow, byte_slow, byte_slow));

/* Asks for the lock. If the two halves of what it returns are equal, the caller has it. */
static inline unsigned long enter(unsigned long ticket, lock_word *lock)
{
	PV_OP_INOUT(locks, enter, (ticket, lock),
		    PV_IN_PLACE(ticket_enter, PV_DISP32 "lock xaddl %k[ticket], (%[lock])"),
		    PV_IN_PLACE(byte_enter, "movl $1, %k[ticket]\nxchgb %b[ticket], (%[lock])"),
		    PV_CALL(byte_enter));
	return ticket;
}

static inline void leave(lock_word *lock)
{
	PV_OP(locks, leave, (lock),
	      PV_IN_PLACE(ticket_leave, PV_DISP32 "incw (%[lock])"),
	      PV_IN_PLACE(byte_leave, "movb $0, (%[lock])"),
	      PV_CALL(byte_leave));
}

static inline void lock(lock_word *lock)
{
	unsigned long ticket = enter(TICKET, lock);

	if (__builtin_expect((uint16_t)ticket != (uint16_t)(ticket >> 16), 0))
		static_call(slow)(lock, ticket);
}

/* ---- Its use ------------------------------------------------------------------------------------------------------ */

static lock_word word;
static unsigned long counter;

static void *count(void *argument)
{
	for (int i = 0; i < EACH; i++) {
		lock(&word);
		counter++;
		leave(&word);
	}
	return argument;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "ticket, in place", "byte, closed arms", "byte, called" };
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t others[MOST];

	if (threads < 1 || threads > MOST)
		return 2;
	for (int backend = NATIVE; backend < BACKENDS; backend++) {
		int error = pv_ops_set(locks, backend);

		if (error) {
			fprintf(stderr, "%s: %s\n", names[backend], jumplabel_strerror(error));
			return 1;
		}
		word = 0;
		counter = 0;
		for (int i = 0; i < threads; i++)
			if (pthread_create(&others[i], NULL, count, NULL))
				return 1;
		for (int i = 0; i < threads; i++)
			pthread_join(others[i], NULL);
		printf("%-18s %lu of %lu\n", names[backend], counter, (unsigned long)threads * EACH);
		if (counter != (unsigned long)threads * EACH)
			return 1;
	}
	return 0;
}
