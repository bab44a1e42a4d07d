/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keys that C++ defines in each file that uses them, and the linker takes from one: for several.cc and several_other.cc. */
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
/* Each file has its own optimised copy. */
__attribute__((always_inline)) inline int inlined()
{
	return static_branch_likely(&shared) + 2 * static_branch_unlikely(&of<int>::key) + 4 * static_branch_unlikely(&loads);
}

int other();

#endif
