// SPDX-License-Identifier: MIT OR Apache-2.0
// Verbose logging, with tests/c/verbose_other.cc. Prints "ok" at the end. `start`: prints what the start variable has turned on.
#include <cstring>
#include <sstream>

#include <jumplabel/agent.h>
#include <jumplabel/vlog.hpp>

#include "checked.h"
#include "verbose.h"

JUMPLABEL_STARTUP();
VLOG_FILE();
DEFINE_VLOG_MODULE(verbose_net, "net");

static std::string said;
static unsigned int last_line;

static void keep(const jumplabel::vlog::message &message)
{
	last_line = message.line;
	said += std::to_string(message.level) + ":" + std::string(message.text) + ";";
}

// The output since the last call.
static std::string fresh()
{
	std::string was = said;

	said.clear();
	return was;
}

static int evaluated;
static int number(int x)
{
	evaluated++;
	return x;
}

// The test disassembles these two functions, which differ only in the statement.
extern "C" __attribute__((noinline)) void logs(int x)
{
	std::fflush(stdout);
	VLOG(1) << "logs" << 7;
	std::fflush(stdout);
	(void)x;
}
extern "C" __attribute__((noinline)) void quiet(int x)
{
	std::fflush(stdout);
	std::fflush(stdout);
	(void)x;
}

static void all_levels()
{
	VLOG(0) << "zero" << number(0);
	VLOG(1) << "one" << number(1);
	VLOG(2) << "two" << number(2);
	VLOG(4) << "four" << number(4);
}

// A statement as the only one in an `if` with an `else`.
static void branches(bool is)
{
	if (is)
		VLOG(1) << "is";
	else
		VLOG(1) << "is not";
	if (VLOG_IS_ON(2))
		number(9);
}

static void patterns()
{
	using jumplabel::vlog::_chooses;

	static_assert(_chooses("*", "src/net/a.cc") && _chooses("a", "src/net/a.cc") && _chooses("a.cc", "src/net/a.cc"), "");
	static_assert(_chooses("net/*", "src/net/a.cc") && _chooses("net/a", "net/a.cc") && _chooses("s?c/*/a", "src/net/a.cc"), "");
	static_assert(!_chooses("net", "src/net/a.cc") && !_chooses("et/*", "src/net/a.cc") && !_chooses("b*", "src/net/a.cc"), "");
	static_assert(_chooses("a.b", "x/a.b.cc") && !_chooses("a", "x/a.b.cc") && _chooses("net", "net") && !_chooses("ne", "net"), "");
	static_assert(_chooses("*a*b", "aab") && !_chooses("*a*b", "aba") && _chooses("", ""), "");
}

static void levels()
{
	all_levels();
	branches(true);
	VLOG_IN(verbose_net, 0) << "net";
	CHECK(fresh().empty() && evaluated == 0);

	CHECK(jumplabel::vlog::set("verbose=1") == 1);
	all_levels();
	CHECK(fresh() == "0:zero0;1:one1;" && evaluated == 2 && last_line > 0);
	branches(true);
	branches(false);
	CHECK(fresh() == "1:is;1:is not;" && evaluated == 2);

	// Levels go up and down, and to none.
	CHECK(jumplabel::vlog::set("tests/c/verbose.cc=4") == 1);
	all_levels();
	CHECK(fresh() == "0:zero0;1:one1;2:two2;4:four4;");
	CHECK(VLOG_IS_ON(3) && jumplabel::vlog::set("verbose=0") == 1 && VLOG_IS_ON(0) && !VLOG_IS_ON(1));
	CHECK(jumplabel::vlog::set("verbose=-1") == 1);
	all_levels();
	CHECK(fresh().empty());

	// For each file, the first pattern that chooses it counts. Other files, modules, and headers are chosen, too.
	CHECK(jumplabel::vlog::set("verbose_*=2,net=1,*=0") == 3);
	all_levels();
	other();
	in_header(5);
	CHECK(fresh() == "0:zero0;2:other;1:header5;");
	CHECK(jumplabel::vlog::set("c/*=-1") == 2 && jumplabel::vlog::set("nothing=1") == 0 && jumplabel::vlog::set("") == 0);
	all_levels();
	other();
	in_header(6);
	CHECK(fresh() == "1:header6;");
	CHECK(jumplabel::vlog::set("*=-1") == 3);

	// The keys are set one by one.
	static_branch_enable(&jumplabel_vlog_levels[2]);
	all_levels();
	CHECK(fresh() == "2:two2;");

	for (const char *wrong : { "verbose", "verbose=", "=1", "verbose=x", "verbose=1,net", "verbose=-2", "verbose=1x", "verbose=1000" })
		CHECK(jumplabel::vlog::set(wrong) == -22);
	all_levels();
	CHECK(fresh() == "2:two2;" && jumplabel::vlog::set("verbose=99") == 1 && VLOG_IS_ON(4));
	CHECK(jumplabel::vlog::set("*=-1") == 3);
}

// Another logger's statement begins with an expression that gives a stream. It is not evaluated while the level is off.
static std::ostringstream stream;
static int streams;
static std::ostream &other_logger()
{
	streams++;
	return stream << "[other] ";
}

static void in_front_of_another_logger(bool is)
{
	if (is)
		JUMPLABEL_VLOG_TO(jumplabel_vlog_levels, 2, other_logger()) << "two" << number(2);
	else
		JUMPLABEL_VLOG_TO(verbose_net, 1, other_logger()) << "net" << number(1);
}

static void to_another_logger()
{
	evaluated = 0;
	in_front_of_another_logger(true);
	in_front_of_another_logger(false);
	CHECK(streams == 0 && evaluated == 0 && jumplabel::vlog::set("verbose=1,net=1") == 2);
	in_front_of_another_logger(true);
	CHECK(streams == 0 && evaluated == 0);
	in_front_of_another_logger(false);
	CHECK(streams == 1 && evaluated == 1 && stream.str() == "[other] net1" && jumplabel::vlog::set("verbose=2,net=0") == 2);
	in_front_of_another_logger(true);
	in_front_of_another_logger(false);
	CHECK(streams == 2 && evaluated == 2 && stream.str() == "[other] net1[other] two2" && jumplabel::vlog::set("*=-1") == 3);
	CHECK(fresh().empty());
}

int main(int argc, char **argv)
{
	if (argc > 1 && !std::strcmp(argv[1], "start")) {
		all_levels();
		other();
		in_header(1);
		return 0;
	}
	jumplabel::vlog::set_sink(keep);
	patterns();
	levels();
	to_another_logger();
	logs(1);
	quiet(1);
	std::puts("ok");
	return 0;
}
