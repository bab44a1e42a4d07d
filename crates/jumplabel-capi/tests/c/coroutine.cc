// SPDX-License-Identifier: MIT OR Apache-2.0
// Checks in C++20 coroutines: in the body, in a loop, between objects with destructors, and as the operand of co_await. Prints
// "ok" at the end.
#include <coroutine>
#include <string>

#include "check.h"

static DEFINE_STATIC_KEY_FALSE(off);
static DEFINE_STATIC_KEY_TRUE(on);

struct Task {
	struct promise_type {
		std::string result;

		Task get_return_object() { return Task{ std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_value(std::string value) { result = value; }
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;

	std::string run()
	{
		while (!handle.done())
			handle.resume();
		std::string result = handle.promise().result;
		handle.destroy();
		return result;
	}
};

// An awaitable: it suspends, and returns its value.
struct Value {
	bool value;

	bool await_ready() const noexcept { return false; }
	void await_suspend(std::coroutine_handle<>) const noexcept {}
	bool await_resume() const noexcept { return value; }
};

static Task checks_in_a_coroutine(int rounds)
{
	std::string result;

	for (int i = 0; i < rounds; i++) {
		std::string text = "a";

		if (static_branch_unlikely(&off))
			text += "b";
		co_await std::suspend_always{};
		if (!static_branch_likely(&on))
			continue;
		result += text;
	}
	if (co_await Value{ static_branch_unlikely(&off) })
		result += "c";
	result += co_await Value{ static_branch_likely(&on) } ? "d" : "e";
	co_return result;
}

// Checks in places where a statement expression is not allowed: a default argument, initialisers of a member and of a global.
static bool by_default(bool value = static_branch_unlikely(&off))
{
	return value;
}
struct Member {
	bool value = static_branch_likely(&on);
};
static bool at_start = static_branch_likely(&on);

int main()
{
	jumplabel_set_warn(note_warning, nullptr);
	CHECK(checks_in_a_coroutine(2).run() == "aad");
	CHECK(!by_default() && Member().value && at_start);
	STEP(static_branch_enable(&off));
	CHECK(checks_in_a_coroutine(2).run() == "ababcd");
	STEP(static_branch_disable(&on));
	CHECK(checks_in_a_coroutine(2).run() == "ce");
	CHECK(by_default() && !Member().value);
	printf("ok %d\n", checks);
	return 0;
}
