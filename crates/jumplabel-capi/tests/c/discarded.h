/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that each file with this header has. The linker keeps one copy of each. */
#ifndef DISCARDED_H
#define DISCARDED_H

#include <jumplabel.h>

inline DEFINE_STATIC_KEY_FALSE(shared);
inline DEFINE_STATIC_KEY_TRUE(shared_on);
inline DEFINE_STATIC_KEY_FALSE_OR_LOAD(shared_loads);
DECLARE_STATIC_MODE(way, 3, 0);

/* Throws `number`, or returns it. It goes through sites of all kinds. */
int thrower(int number);

/* A function that is not inlined, with one site of each key. */
__attribute__((__noinline__)) inline int in_line(int number)
{
	int result = 0;

	if (static_branch_unlikely(&shared))
		result += thrower(number);
	if (static_branch_likely(&shared_on))
		result += 10;
	if (static_branch_unlikely(&shared_loads))
		result += 100;
	return result + 1000 * static_switch(way, 3);
}

template <class _type> struct of {
	static inline DEFINE_STATIC_KEY_FALSE(key);
	__attribute__((__noinline__)) static int check()
	{
		return static_branch_unlikely(&key) ? (int)sizeof(_type) : 0;
	}
};

/* The same, called by the other file. */
int other_in_line(int number);
int other_of_short();
int other_of_double();

#endif
