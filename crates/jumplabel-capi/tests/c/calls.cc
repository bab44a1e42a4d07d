// SPDX-License-Identifier: MIT OR Apache-2.0
// Static calls in C++: exceptions through them, objects by value, noexcept, overloads, lambdas, namespaces. Prints "ok" at the end.
#include <jumplabel.hpp>

#include "check.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace outer {
namespace {
std::string twice(std::string text, const std::string &end)
{
	return text + text + end;
}

std::string refuse(std::string text, const std::string &end)
{
	throw std::runtime_error(text + end);
}
} // namespace
} // namespace outer

DEFINE_STATIC_CALL(texts, outer::twice);

struct Counted {
	static int alive;

	Counted() { alive++; }
	Counted(const Counted &) { alive++; }
	~Counted() { alive--; }
};
int Counted::alive;

static std::string through(const std::string &text)
{
	Counted local;

	return static_call(texts)(text, "!");
}

static void exceptions()
{
	CHECK(through("a") == "aa!");
	STEP(CHECK(static_call_update(texts, outer::refuse) == 0));
	for (int i = 0; i < 3; i++) {
		std::string said;

		try {
			through("b");
		} catch (const std::runtime_error &error) {
			said = error.what();
		}
		CHECK(said == "b!" && Counted::alive == 0);
	}
	STEP(CHECK(static_call_update(texts, [](std::string text, const std::string &) { return text; }) == 0));
	CHECK(through("c") == "c");
}

static int never(int x) noexcept
{
	return x + 1;
}

static int maybe(int x)
{
	if (x < 0)
		throw x;
	return x + 2;
}

DEFINE_STATIC_CALL(noexcept_call, never);
DEFINE_STATIC_CALL(other_call, maybe);

// A call of a function that is noexcept is noexcept, too. A call that may throw accepts a target that does not throw.
static_assert(noexcept(static_call(noexcept_call)(1)) && !noexcept(static_call(other_call)(1)));

static int overloaded(int x)
{
	return x + 3;
}

[[maybe_unused]] static double overloaded(double x)
{
	return x;
}

template <class T> struct Holder {
	static T member(T x) { return x + 4; }
};

static void targets()
{
	CHECK(static_call(noexcept_call)(1) == 2 && static_call(other_call)(1) == 3);
	STEP(static_call_update(other_call, never));
	CHECK(static_call(other_call)(-1) == 0 && static_call_query(other_call) == never);
	STEP(static_call_update(other_call, overloaded));
	CHECK(static_call(other_call)(1) == 4);
	STEP(static_call_update(other_call, &Holder<int>::member));
	CHECK(static_call(other_call)(1) == 5);
	STEP(static_call_update(other_call, reinterpret_cast<void *>(&__static_call_return0)));
	CHECK(static_call(other_call)(1) == 0);
	STEP(static_call_update(other_call, maybe));
	CHECK(static_call(other_call)(1) == 3);
}

static Counted make(Counted, int)
{
	return Counted();
}

static int count(Counted *all)
{
	return all != nullptr;
}

DEFINE_STATIC_CALL(objects, make);
DEFINE_STATIC_CALL_NULL(nowhere, count);
inline int in_an_inline_function(int x)
{
	return static_call(noexcept_call)(x);
}

static void values()
{
	{
		Counted one = static_call(objects)(Counted(), 1);
		CHECK(Counted::alive == 1);
	}
	CHECK(Counted::alive == 0);
	for (decltype(&count) target : { &count, static_cast<decltype(&count)>(nullptr) }) {
		STEP(CHECK(static_call_update(nowhere, target) == 0));
		static_call_cond(nowhere)(nullptr);
		CHECK(static_call_query(nowhere) == target);
	}
	STEP(static_call_update(nowhere, count));
	STEP(static_call_update(nowhere, nullptr));
	STEP(static_call_update(nowhere, NULL));
	CHECK(!static_call_query(nowhere) && in_an_inline_function(1) == 2);
	auto lambda = [](auto value) { return static_call(noexcept_call)(value); };
	CHECK(lambda(5) == 6);
}

int main()
{
	jumplabel_set_warn(note_warning, nullptr);
	exceptions();
	targets();
	values();
	printf("ok %d\n", checks);
	return 0;
}
