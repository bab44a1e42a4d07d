/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One of each kind of site. Says "ready", and, for each line of its input, changes all of them at once: to what the file does not have, and back.
 * The alternative stays applied.
 */
#include <jumplabel.h>

#include <stdio.h>

DEFINE_STATIC_KEY_FALSE(trace);
DEFINE_STATIC_MODE(policy, 4, 1);
DEFINE_PV_OPS(events, 3);

static int plain(int number)
{
	return number + 1;
}

static int other(int number)
{
	return number + 2;
}

static int silent(const char *text)
{
	return text[0];
}

DEFINE_STATIC_CALL(hash, plain);
DEFINE_STATIC_CALL(say, silent);

static void once(unsigned *counter)
{
	++*counter;
}

static void twice(unsigned *counter)
{
	*counter += 2;
}

static inline void count(unsigned *counter)
{
	PV_OP(events, count, (counter), PV_IN_PLACE(once, PV_DISP32 "lock incl (%[counter])"),
	      PV_IN_PLACE(twice, "lock addl $2, (%[counter])"), PV_NOTHING);
}

int work(int number);
__attribute__((noinline)) int work(int number)
{
	unsigned counter = 0;
	int more = 0;

	if (static_branch_unlikely(&trace))
		more = 100;
	switch (static_switch(policy, 4)) {
	case 0:
		more += 10;
		break;
	case 1:
		more += 20;
		break;
	case 2:
		more += 30;
		break;
	default:
		more += 40;
	}
	count(&counter);
	__asm__ volatile(ALTERNATIVE("movl $1, %0", "movl $2, %0", X86_FEATURE_CX16) : "=r"(number) : : "cc");
	return static_call(hash)(number) + static_call(say)("") + more + (int)counter;
}

int main(void)
{
	char line[80];

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("%d ready\n", work(0));
	for (int there = 1; fgets(line, sizeof(line), stdin); there = !there) {
		if (jumplabel_alternatives_apply() || static_call_update(hash, there ? other : plain) ||
		    static_call_update(say, there ? puts : silent) || static_mode_set(policy, there ? 3 : 1) ||
		    pv_ops_set(events, there))
			return 1;
		if (there)
			static_branch_enable(&trace);
		else
			static_branch_disable(&trace);
		printf("%d ready\n", static_key_count(&trace));
	}
	return 0;
}
