/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Alternatives. Prints "ok". With an argument, there is another thread, so alternatives are refused.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

#ifdef JUMPLABEL_FALLBACK
enum { PATCHED = 0 };
#elif defined(__x86_64__)
enum { PATCHED = 1 };
#else
enum { PATCHED = 0 };
#endif

#if defined(__x86_64__)

__asm__(".pushsection .text\nalternative_three: .byte 0xb8, 3, 0, 0, 0, 0xc3\n.popsection");

/* Functions whose result is the number of the arm that is in place. An arm may call, so the text steps over the red zone. */
#define NUMBER(name, old_instructions, new_instructions)                                                               \
	static __attribute__((noinline)) int name(void)                                                                \
	{                                                                                                              \
		int number = 0;                                                                                        \
		__asm__ volatile("{subq $128, %%rsp|sub rsp, 128}\n"                                                   \
			ALTERNATIVE(old_instructions, new_instructions, X86_FEATURE_POPCNT)                            \
			"{subq $-128, %%rsp|sub rsp, -128}\n" : "+a"(number) : : "cc");                                \
		return number;                                                                                         \
	}

#define IS(n) "{movl $" #n ", %%eax|mov eax, " #n "}"
#define MORE(n) "{addl $" #n ", %%eax|add eax, " #n "}"

NUMBER(same, IS(1), IS(2))
NUMBER(shorter, IS(1) "\nnop", "{addl $2, %0|add %0, 2}")
NUMBER(longer, "nop", IS(2) "\nnop")
NUMBER(from_nothing, "", MORE(2))
NUMBER(to_nothing, MORE(1), "")
NUMBER(distant, IS(1), IS(1) "\n" MORE(1))
NUMBER(far_from_nothing, "", IS(1) "\n" MORE(1))
NUMBER(far_old, IS(3) "\n" MORE(-2), IS(2))
NUMBER(calls, MORE(1), "call alternative_three")
NUMBER(called, "call alternative_three", MORE(2))

static inline int operands(int number)
{
	int more;

	__asm__ volatile(ALTERNATIVE("{leal 1(%q1), %0|lea %0, [%q1 + 1]}", "{leal 2(%q1), %0|lea %0, [%q1 + 2]}", X86_FEATURE_POPCNT)
		     : "=r"(more)
		     : "r"(number));
	return more;
}

static int inlined(void)
{
	return operands(operands(-1));
}

static const struct {
	int (*function)(void);
	int before, after;
} each[] = { { same, 1, 2 },		  { shorter, 1, 2 }, { longer, 0, 2 },	{ from_nothing, 0, 2 }, { to_nothing, 1, 0 }, { distant, 1, 2 },
	     { far_from_nothing, 0, 2 }, { far_old, 1, 2 }, { calls, 1, 3 }, { called, 3, 2 },	{ inlined, 1, 3 } };

static void each_is(bool applied)
{
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		CHECK(each[i].function() == (applied && PATCHED ? each[i].after : each[i].before));
}

#else

static void each_is(bool applied)
{
	(void)applied;
}

#endif

static void *wait_for_ever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	CHECK(!jumplabel_alternatives_has("coffee") && !jumplabel_alternatives_has(NULL));
	CHECK(jumplabel_alternatives_has("popcnt") || !PATCHED);
	each_is(false);
	if (argc > 1 && PATCHED) {
		CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
		CHECK(jumplabel_alternatives_apply() == -EAGAIN);
		each_is(false);
	} else {
		CHECK(jumplabel_alternatives_apply() == 0);
		each_is(true);
		CHECK(jumplabel_alternatives_apply() == 0);
		each_is(true);
	}
	puts("ok");
	return 0;
}
