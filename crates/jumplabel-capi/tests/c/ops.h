/* Shared by tests/c/ops.c and ops_elsewhere.c: a table, and an operation with sites in both. */
#ifndef OPS_H
#define OPS_H

#include <jumplabel.h>

DECLARE_PV_OPS(events, 3);

static void plain(unsigned *counter)
{
	++*counter;
}

static void twice(unsigned *counter)
{
	*counter += 2;
}

static inline void count(unsigned *counter)
{
	PV_OP(events, count, (counter),
	      PV_IN_PLACE(plain, PV_DISP32 "{lock incl (%[counter])|lock inc dword ptr [%[counter]]}"),
	      PV_IN_PLACE(twice, "{lock addl $2, (%[counter])|lock add dword ptr [%[counter]], 2}"),
	      PV_NOTHING);
}

#ifdef __cplusplus
extern "C" {
#endif
void elsewhere(unsigned *counter);
#ifdef __cplusplus
}
#endif

#endif
