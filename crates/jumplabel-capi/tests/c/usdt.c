/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a tracer sees of tracepoints in C and C++. They must be on while there is a tracer or a probe. With the path of usdt_plugin.c's object, tests
   a plugin, too. Prints `ok`. */
#define TRACE_SYSTEM net
#include <jumplabel.h>

#include <errno.h>
#include <pthread.h>
#ifdef BESIDE
#include <sys/sdt.h>
#endif
#include "usdt.h"
#define CHECK(what) ((what) ? (void)0 : fail("not so", #what))

struct three {
	int a, b, c;
};
enum sign { MINUS = -1, PLUS = 1 };

DEFINE_TRACEPOINT(packet, TP_PROTO(size_t length, short port, const char *name), TP_ARGS(length, port, name));
DEFINE_TRACEPOINT(mixed,
		  TP_PROTO(struct three three, double real, bool truth, enum sign sign, signed char c, unsigned char u, long long l,
			   const void *pointer, float small, unsigned q, unsigned long long r, const struct three *at),
		  TP_ARGS(three, real, truth, sign, c, u, l, pointer, small, q, r, at));
DECLARE_TRACE_NOARGS(none);
DEFINE_TRACE_NOARGS(none);
#undef TRACE_SYSTEM
#define TRACE_SYSTEM other
DEFINE_TRACEPOINT(many,
		  TP_PROTO(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m, int n),
		  TP_ARGS(a, b, c, d, e, f, g, h, i, j, k, l, m, n));
#ifdef __cplusplus
#include <string>
namespace space
{
enum class Kind : unsigned char { A, B = 200 };
DEFINE_TRACEPOINT(text, TP_PROTO(const std::string &text, Kind kind, int &last, char16_t unit), TP_ARGS(text, kind, last, unit));
}
#endif

static int heard;
static void probe(void *data, size_t length, short port, const char *name)
{
	(void)data, (void)port, (void)name;
	heard += (int)length;
}

static struct three copied;
static double real_copied;
static float small_copied;
static void copy(void)
{
	memcpy(&copied, (const void *)(uintptr_t)values[0], sizeof(copied));
	memcpy(&real_copied, (const void *)(uintptr_t)values[1], sizeof(real_copied));
	memcpy(&small_copied, (const void *)(uintptr_t)values[8], sizeof(small_copied));
}
#ifdef __cplusplus
static std::string text_copied;
static void copy_text(void)
{
	text_copied = *(const std::string *)(uintptr_t)values[0];
}
#endif

static void arguments(void)
{
	static const struct three three = { 1, 2, 3 };

	attach(&heard, "net", "packet");
	CHECK(jumplabel_usdt_look() == 1 && trace_packet_enabled());
	for (int round = 0; round < 3; round++)
		trace_packet(60, -80, "hello");
	CHECK(hits == 3 && count == 3 && values[0] == 60 && values[1] == -80 && !strcmp((const char *)(uintptr_t)values[2], "hello"));
	detach();

	attach(&heard, "net", "mixed");
	also = copy;
	CHECK(jumplabel_usdt_look() == 1 && !trace_packet_enabled());
	for (int round = 0; round < 3; round++)
		trace_mixed(three, 1.5, true, MINUS, -7, 200, -5, &heard, 2.5f, 4000000000u, ~0ull, &three);
	also = 0;
	CHECK(hits == 3 && count == 12 && copied.a == 1 && copied.b == 2 && copied.c == 3 && real_copied == 1.5 && small_copied == 2.5f);
	CHECK(values[2] == 1 && values[3] == -1 && values[4] == -7 && values[5] == 200 && values[6] == -5);
	CHECK(values[7] == (int64_t)(uintptr_t)&heard && values[9] == 4000000000u && values[10] == -1);
	CHECK(values[11] == (int64_t)(uintptr_t)&three);
	detach();

	attach(&heard, "net", "none");
	CHECK(jumplabel_usdt_look() == 1);
	trace_none();
	CHECK(hits == 1 && count == 0);
	detach();

	attach(&heard, "other", "many");
	CHECK(jumplabel_usdt_look() == 1);
	trace_many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
	CHECK(hits == 1 && count == 12);
	for (int number = 0; number < 12; number++)
		CHECK(values[number] == number + 1);
	detach();

#ifdef __cplusplus
	attach(&heard, "other", "text");
	CHECK(jumplabel_usdt_look() == 1);
	also = copy_text;
	int last = -9;
	space::trace_text(std::string("a text"), space::Kind::B, last, u'x');
	also = 0;
	CHECK(hits == 1 && count == 4 && text_copied == "a text" && values[1] == 200 && values[2] == last && values[3] == u'x');
	detach();
#endif
	CHECK(jumplabel_usdt_look() == 0);
}

/* A tracer and a probe do not disturb each other. */
static void beside_probes(void)
{
	static int data;

	for (int kind = 0; kind < 2; kind++) {
		void *with = kind ? &data : 0;

		heard = 0;
		attach(&heard, "net", "packet");
		CHECK(jumplabel_usdt_look() == 1);
		CHECK(!register_trace_packet(probe, with));
		CHECK(jumplabel_usdt_look() == 1);
		trace_packet(1, 0, "");
		CHECK(hits == 1 && heard == 1);
		detach();
		CHECK(jumplabel_usdt_look() == 0 && trace_packet_enabled());
		trace_packet(1, 0, "");
		CHECK(hits == 1 && heard == 2);
		attach(&heard, "net", "packet");
		CHECK(jumplabel_usdt_look() == 1);
		CHECK(!unregister_trace_packet(probe, with) && trace_packet_enabled());
		raise_semaphore(&traced, 1);
		CHECK(jumplabel_usdt_look() == 1);
		raise_semaphore(&traced, -1);
		CHECK(jumplabel_usdt_look() == 1);
		trace_packet(1, 0, "");
		CHECK(hits == 1 && heard == 2);
		detach();
		CHECK(trace_packet_enabled() && jumplabel_usdt_look() == 0 && !trace_packet_enabled());
		CHECK(unregister_trace_packet(probe, with) == -ENOENT);
	}
}

static void ignore(const char *message, void *data)
{
	(void)message, (void)data;
}

static volatile bool looking = true;
static void *look(void *data)
{
	while (looking)
		CHECK(jumplabel_usdt_look() >= 0);
	return data;
}

/* A plugin is loaded, traced and unloaded while threads look. It is also unloaded while it is traced. */
static void plugin(const char *path)
{
	pthread_t threads[2];

	for (int number = 0; number < 2; number++)
		CHECK(!pthread_create(&threads[number], 0, look, 0));
	for (int round = 0; round < 300; round++) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

		if (!library)
			fail("dlopen", dlerror());
		const void *at = dlsym(library, "emit");
		void (*emit)(void);
		bool (*is_on)(void);
		struct note note = find_note(at, "plugged", "point");

		memcpy(&emit, &at, sizeof(emit));
		at = dlsym(library, "is_on");
		memcpy(&is_on, &at, sizeof(is_on));

		raise_semaphore(&note, 1);
		if (round % 3)
			while (!is_on())
				;
		emit();
		if (round % 3 == 2) {
			raise_semaphore(&note, -1);
			while (is_on())
				;
		}
		dlclose(library);
		CHECK(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
	}
	looking = false;
	for (int number = 0; number < 2; number++)
		pthread_join(threads[number], 0);
}

int main(int argc, char **argv)
{
	jumplabel_set_warn(ignore, 0);
	arguments();
	beside_probes();
	if (argc > 1)
		plugin(argv[1]);
	/* From here on, the thread looks. */
	CHECK(!jumplabel_usdt_watch() && !jumplabel_usdt_watch());
	attach(&heard, "net", "packet");
	while (!hits)
		trace_packet(1, 0, "");
	detach();
	while (trace_packet_enabled())
		;
#ifdef BESIDE
	DTRACE_PROBE2(beside, point, argc, argv);
	CHECK(find_note(&heard, "beside", "point").nop);
#endif
	puts("ok");
	return 0;
}
