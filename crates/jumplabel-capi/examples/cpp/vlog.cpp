// SPDX-License-Identifier: MIT OR Apache-2.0
// Verbose logging whose levels change at run time, in front of three sinks. `vlog LEVELS`, as in `vlog 'vlog=2'`, works twice: before the levels are
// set, and after.
//
//     c++ -std=c++17 vlog.cpp -ljumplabel                                         standard error
//     c++ -std=c++17 -DWITH_GLOG vlog.cpp -ljumplabel -lglog                      glog; its own VLOG gives way
//     c++ -std=c++17 -DWITH_SPDLOG vlog.cpp -ljumplabel -lspdlog -lfmt            spdlog
#ifdef WITH_GLOG
#include <glog/logging.h>
#endif
#ifdef WITH_SPDLOG
#include <spdlog/spdlog.h>
#endif

#include <jumplabel/vlog.hpp>

VLOG_FILE();

#if defined(WITH_GLOG)
static void to_glog(const jumplabel::vlog::message &message)
{
	google::LogMessage(message.file, static_cast<int>(message.line), google::GLOG_INFO).stream() << message.text;
}
#elif defined(WITH_SPDLOG)
static void to_spdlog(const jumplabel::vlog::message &message)
{
	// spdlog has levels of its own, which it looks at afterwards.
	spdlog::log(spdlog::source_loc(message.file, static_cast<int>(message.line), ""), spdlog::level::info, "V{} {}", message.level,
		    std::string(message.text));
}
#endif

static void work(int round)
{
	VLOG(1) << "round " << round;
	VLOG(2) << "details of round " << round;
}

int main(int argc, char **argv)
{
#if defined(WITH_GLOG)
	FLAGS_logtostderr = true;
	google::InitGoogleLogging(argv[0]);
	jumplabel::vlog::set_sink(to_glog);
#elif defined(WITH_SPDLOG)
	jumplabel::vlog::set_sink(to_spdlog);
#endif
	work(1);
	if (argc > 1 && jumplabel::vlog::set(argv[1]) < 0)
		return 2;
	work(2);
	return 0;
}
