/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keys that C++ has in each file that uses them, and the linker takes from one: of several.cc and several_other.cc. */
#ifndef SEVERAL_H
#define SEVERAL_H

#include <jumplabel.hpp>

inline DEFINE_STATIC_KEY_FALSE(shared);
RECORD_STATIC_KEY(shared, "several.shared");
static DEFINE_STATIC_KEY_FALSE(own);
RECORD_STATIC_KEY(own, "several.own");
inline DEFINE_STATIC_KEY_TRUE_OR_LOAD(loads);
template <class T> struct of {
	static inline DEFINE_STATIC_KEY_FALSE(key);
};
template <class T> int state()
{
	static DEFINE_STATIC_KEY_TRUE(local);

	return static_branch_unlikely(&of<T>::key) + 2 * static_branch_unlikely(&shared) + 4 * static_branch_likely(&loads) +
	       8 * static_branch_likely(&local);
}
/* The optimised code of each file has its own. */
__attribute__((always_inline)) inline int inlined()
{
	return static_branch_likely(&shared) + 2 * static_branch_unlikely(&of<int>::key) + 4 * static_branch_unlikely(&loads);
}

int other();

#endif
