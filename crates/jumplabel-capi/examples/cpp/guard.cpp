// SPDX-License-Identifier: MIT OR Apache-2.0
// A scope that traces: the key is on for as long as somebody is interested, and costs a nop for the rest of the time.
//
//     c++ -std=c++17 -O2 guard.cpp -ljumplabel -o guard && ./guard
#include <jumplabel.hpp>

#include <cstdio>

namespace {

DEFINE_STATIC_KEY_FALSE(tracing);

int fibonacci(int n)
{
	if (static_branch_unlikely(&tracing))
		std::printf("fibonacci(%d)\n", n);
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Templates have a site for each instantiation; all of them follow the key.
template <class Number> Number twice(Number x)
{
	if (static_branch_unlikely(&tracing))
		std::printf("twice\n");
	return 2 * x;
}

} // namespace

int main()
{
	fibonacci(3); // says nothing
	{
		jumplabel::enabled_scope trace(tracing);
		if (!trace) {
			std::fprintf(stderr, "no tracing: %s\n", jumplabel_strerror(trace.error()));
			return 1;
		}
		fibonacci(2);
		twice(1);
		twice(1.0);
	} // off again, unless another scope still holds it
	return fibonacci(3) + twice(1) == 4 ? 0 : 1;
}
