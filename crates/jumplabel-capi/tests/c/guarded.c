/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A library for guarding.c: sites on the same page as a function that no indirect branch may enter if code is guarded (aarch64, BTI). It is linked
 * without the C library's start files, because these may not follow that rule.
 */
#include <jumplabel.h>

DEFINE_STATIC_KEY_FALSE(guarded_key);

int guarded_check(void);
int guarded_check(void)
{
	return static_branch_unlikely(&guarded_key) ? 1 : 0;
}

/* The result of the flip. */
int guarded_flip(int on);
int guarded_flip(int on)
{
	return on ? jumplabel_enable(&guarded_key.key) : jumplabel_disable(&guarded_key.key);
}

/* This function does not begin with a landing pad. */
__asm__(".pushsection .text, \"ax\"\n"
	".globl guarded_no_pad\n"
	".type guarded_no_pad, %function\n"
	"guarded_no_pad: ret\n"
	".size guarded_no_pad, . - guarded_no_pad\n"
	".popsection\n");
