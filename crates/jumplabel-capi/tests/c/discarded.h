/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that are in each file that includes this, and of which the linker keeps one. */
#ifndef DISCARDED_H
#define DISCARDED_H

#include <jumplabel.h>

inline DEFINE_STATIC_KEY_FALSE(shared);
inline DEFINE_STATIC_KEY_TRUE(shared_on);
inline DEFINE_STATIC_KEY_FALSE_OR_LOAD(shared_loads);
DECLARE_STATIC_MODE(way, 3, 0);

/* Throws `number` by way of all kinds of sites, or returns it. */
int thrower(int number);

/* One site of each key, in a function that is not put into its callers. */
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

/* The same, by the other file. */
int other_in_line(int number);
int other_of_short();
int other_of_double();

#endif
