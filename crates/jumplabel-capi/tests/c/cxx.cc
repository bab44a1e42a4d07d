// SPDX-License-Identifier: MIT OR Apache-2.0
// Keys and checks in places that only C++ has: namespaces, static members, templates, lambdas, inline functions, inline variables; and the guards of
// jumplabel.hpp. Prints "ok" at the end.
extern "C" {
#include <jumplabel.h> // some programs do this
}
#include <jumplabel.hpp>

#include "check.h"

#include <errno.h>
#include <string>
#include <utility>

namespace outer {
namespace {
DEFINE_STATIC_KEY_FALSE(hidden);
}
namespace inner {
DEFINE_STATIC_KEY_TRUE(visible);
}
} // namespace outer

struct Members {
	static struct static_key_true outside;
	static inline DEFINE_STATIC_KEY_FALSE(inside);
	static inline struct static_key_true starts_on_without_initialiser;

	bool check() const { return static_branch_unlikely(&inside); }
};
struct static_key_true Members::outside = STATIC_KEY_TRUE_INIT;

template <class T> struct Templated {
	static struct static_key_false key;
	static inline DEFINE_STATIC_KEY_TRUE(inline_key);

	static int state() { return static_branch_unlikely(&key) | static_branch_likely(&inline_key) << 1; }
};
template <class T> struct static_key_false Templated<T>::key = STATIC_KEY_FALSE_INIT;

template <static_key_false &Key> static bool by_reference_parameter()
{
	return static_branch_unlikely(&Key);
}
DEFINE_STATIC_KEY_FALSE(parameter);

inline DEFINE_STATIC_KEY_ARRAY_TRUE(array, 4);

inline bool in_an_inline_function()
{
	static DEFINE_STATIC_KEY_FALSE(local);

	static_branch_enable(&local);
	return static_branch_likely(&local);
}

/* A name that the header might use itself. */
static DEFINE_STATIC_KEY_FALSE(check);

static bool checked()
{
	return static_branch_unlikely(&check);
}

static DEFINE_STATIC_KEY_FALSE(among);

/* Sites between objects with destructors, in a function that has other jumps. */
static std::string among_objects(int choice)
{
	std::string result = "a";

	if (static_branch_unlikely(&among))
		result += "b";
	for (int i = 0; i < 2; i++) {
		std::string more = "c";

		if (static_branch_likely(&among))
			continue;
		result += more;
	}
	switch (choice) {
	case 0: {
		auto check = [&](std::string text) { return static_branch_unlikely(&among) ? text : result; };
		return check("d");
	}
	default:
		return static_branch_likely(&among) ? result : "e";
	}
}

static void places()
{
	CHECK(!static_branch_unlikely(&outer::hidden) && static_branch_likely(&outer::inner::visible));
	STEP(static_branch_enable(&outer::hidden));
	STEP(static_branch_disable(&outer::inner::visible));
	CHECK(static_branch_unlikely(&outer::hidden) && !static_branch_likely(&outer::inner::visible));

	CHECK(static_branch_likely(&Members::outside) && static_branch_likely(&Members::starts_on_without_initialiser));
	CHECK(!Members().check());
	STEP(static_branch_enable(&Members::inside));
	STEP(static_branch_disable(&Members::starts_on_without_initialiser));
	CHECK(Members().check() && !static_branch_likely(&Members::starts_on_without_initialiser));

	CHECK(Templated<int>::state() == 2 && Templated<long>::state() == 2);
	STEP(static_branch_enable(&Templated<int>::key));
	STEP(static_branch_disable(&Templated<long>::inline_key));
	CHECK(Templated<int>::state() == 3 && Templated<long>::state() == 0);

	CHECK(among_objects(0) == "acc" && among_objects(1) == "e");
	STEP(static_branch_enable(&among));
	CHECK(among_objects(0) == "d" && among_objects(1) == "ab");

	CHECK(!by_reference_parameter<parameter>());
	STEP(static_branch_enable(&parameter));
	CHECK(by_reference_parameter<parameter>());

	CHECK(static_branch_likely(&array[0]) && static_branch_unlikely(&array[3]));
	STEP(static_branch_disable(&array[3]));
	CHECK(static_branch_likely(&array[0]) && !static_branch_unlikely(&array[3]));

	auto lambda = [](auto value) { return static_branch_unlikely(&parameter) ? value + 1 : value; };
	CHECK(lambda(1) == 2 && lambda(1L) == 2L);
	STEP(static_branch_disable(&parameter));
	CHECK(lambda(1) == 1 && lambda(1L) == 1L);
	STEP(CHECK(in_an_inline_function()));
}

static DEFINE_STATIC_KEY_FALSE(scoped);
static DEFINE_STATIC_KEY_TRUE(other);

static void guards()
{
	{
		jumplabel::enabled_scope first(scoped);
		CHECK(first && first.error() == 0 && static_branch_unlikely(&scoped));
		{
			jumplabel::enabled_scope second(scoped.key), third(std::move(second));
			CHECK(third && !second && static_key_count(&scoped) == 2);
		}
		CHECK(static_key_count(&scoped) == 1 && static_branch_unlikely(&scoped));
		check_text(__LINE__);
	}
	STEP(CHECK(static_key_count(&scoped) == 0 && !static_branch_unlikely(&scoped)));
	{
		jumplabel::lock_scope lock;
		STEP(static_branch_enable_cpuslocked(&scoped));
		jumplabel::enabled_scope another(scoped);
		CHECK(another && static_key_count(&scoped) == 2);
	}
	CHECK(static_branch_unlikely(&scoped));
	STEP(static_branch_disable(&scoped));

	STEP(CHECK(jumplabel::set_all({ jumplabel::change(scoped, true), jumplabel::change(other, false) }) == 0));
	CHECK(static_branch_unlikely(&scoped) && !static_branch_likely(&other));
	jumplabel::enabled_scope again(scoped);
	STEP(CHECK(jumplabel::set_all({ jumplabel::change(other, true), jumplabel::change(scoped, false) }) == -EBUSY));
	CHECK(static_branch_unlikely(&scoped) && !static_branch_likely(&other));

	CHECK(jumplabel_seal(&other.key) == 0);
	jumplabel::enabled_scope sealed(other);
	CHECK(!sealed && sealed.error() == -EROFS);
}

int main()
{
	jumplabel_set_warn(note_warning, nullptr);
	places();
	guards();
	CHECK(!checked());
	STEP(static_branch_enable(&check));
	CHECK(checked());
	printf("ok %d\n", checks);
	return 0;
}
