/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keys and calls that conformance.c uses from another file of the same object. */
#include <jumplabel.h>

DEFINE_STATIC_NAKED_KEY_FALSE(naked_elsewhere);
DEFINE_STATIC_KEY_FALSE_OR_LOAD(load_elsewhere);

int add_three(int x);
int add_three(int x)
{
	return x + 3;
}
DEFINE_STATIC_CALL(adding_elsewhere, add_three);
