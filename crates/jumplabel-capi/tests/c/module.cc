// SPDX-License-Identifier: MIT OR Apache-2.0
// A C++20 module. Its functions check its keys, and are inlined into the importers.
module;
#include <jumplabel.hpp>
export module checks;

export DEFINE_STATIC_KEY_FALSE(off);
export DEFINE_STATIC_KEY_TRUE(on);
DEFINE_STATIC_KEY_DEFERRED_FALSE(late, 5);
DEFINE_STATIC_MODE(mode, 3, 1);

export inline int state()
{
	return static_branch_unlikely(&off) | static_branch_likely(&on) << 1 | static_switch(mode, 3) << 2;
}

#ifdef TEMPLATES
export template <class T> int of_a_template(T)
{
	return static_branch_unlikely(&on) + static_branch_likely(&off);
}
#else
export inline int of_a_template(int)
{
	return static_branch_unlikely(&on) + static_branch_likely(&off);
}
#endif

export int inside()
{
	return state();
}

export int flip()
{
	return jumplabel::set_all({ jumplabel::change(off, true), jumplabel::change(on, false) }) | static_mode_set(mode, 2);
}
