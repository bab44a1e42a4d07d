// SPDX-License-Identifier: MIT OR Apache-2.0
// Tracepoints in C++: probes that throw, arguments with commas in their types, namespaces, lambdas. Prints "ok" at the end.
#include <jumplabel.hpp>

#include "check.h"

#include <errno.h>
#include <string>
#include <thread>
#include <utility>

namespace outer {
DECLARE_TRACE(text, TP_PROTO(const std::string &text, std::pair<int, int> both), TP_ARGS(text, both));
DEFINE_TRACE(text, TP_PROTO(const std::string &text, std::pair<int, int> both), TP_ARGS(text, both));

inline void emit(int x)
{
	trace_text("a", { x, x + 1 });
}
} // namespace outer

static int first, second;

static void refuse(void *data, const std::string &text, std::pair<int, int> both)
{
	CHECK(text == "a" && both.second == both.first + 1);
	++*static_cast<int *>(data ? data : &first);
	throw both.first;
}

static int thrown(int x)
{
	try {
		outer::emit(x);
	} catch (int value) {
		return value;
	}
	return -1;
}

// The exception arrives, and the thread is no longer counted, so synchronize does not wait for it.
static void exceptions(void *data)
{
	using namespace outer;
	auto pass = [](void *, const std::string &, std::pair<int, int>) { second++; };

	STEP(CHECK(register_trace_text(refuse, data) == 0));
	for (int i = 0; i < 3; i++)
		CHECK(thrown(i) == i);
	STEP(CHECK(register_trace_text(pass, nullptr) == 0));
	CHECK(thrown(7) == 7 && first == 4 && second == 0);
	STEP(CHECK(unregister_trace_text(refuse, data) == 0));
	CHECK(thrown(8) == -1 && first == 4 && second == 1);
	STEP(CHECK(unregister_trace_text(pass, nullptr) == 0));
	std::thread([] { STEP(CHECK(tracepoint_synchronize_unregister() == 0)); }).join();
	first = second = 0;
}

int main()
{
	jumplabel_set_warn(note_warning, nullptr);
	exceptions(&first);
	exceptions(nullptr);
	printf("ok %d\n", checks);
	return 0;
}
