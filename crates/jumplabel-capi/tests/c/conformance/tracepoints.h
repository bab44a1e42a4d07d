/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracepoints. A part of conformance.c. */

struct pair {
	long first, second;
};

DECLARE_TRACE(packet, TP_PROTO(size_t length, struct pair ports, double load), TP_ARGS(length, ports, load));
DEFINE_TRACE(packet, TP_PROTO(size_t length, struct pair ports, double load), TP_ARGS(length, ports, load));
EXPORT_TRACEPOINT_SYMBOL_GPL(packet);
enum { LINE = __LINE__ + 1 };
DEFINE_TRACEPOINT(line, TP_PROTO(const char *text), TP_ARGS(text));
DECLARE_TRACE_NOARGS(tick);
DEFINE_TRACE_NOARGS(tick);

/* One letter for each call of a probe. */
static char told[64];

static void tell(const char *data)
{
	size_t end = strlen(told);

	CHECK(end + 1 < sizeof(told));
	told[end] = data ? *data : '0';
	told[end + 1] = 0;
}

/* True if these probes were called since the last question. */
static bool said(const char *letters)
{
	bool same = !strcmp(told, letters);

	if (!same)
		fprintf(stderr, "told \"%s\", not \"%s\"\n", told, letters);
	told[0] = 0;
	return same;
}

static void see_packet(void *data, size_t length, struct pair ports, double load)
{
	CHECK(length == 60 && ports.first == 80 && ports.second == -1 && load == 0.5);
	tell((const char *)data);
}

static void see_packet_too(void *data, size_t length, struct pair ports, double load)
{
	see_packet(data, length, ports, load);
	tell((const char *)data);
}

static void see_line(void *data, const char *text)
{
	(void)data;
	tell(text);
}

static void see_tick(void *data)
{
	tell((const char *)data);
}

static void see_base(void *data, int x)
{
	*(int *)data += x;
}

static struct pair of_ports(void)
{
	struct pair ports = { 80, -1 };

	return ports;
}

static void emit_packet(void)
{
	trace_packet(60, of_ports(), 0.5);
}

static int measures;

static size_t measure(void)
{
	measures++;
	return 60;
}

/* Adds and removes probes in all ways; their order; errors. */
static void probes(void)
{
	char a[] = "a", b[] = "b", c[] = "c";

	check_trace_callback_type_packet(see_packet);
	CHECK(!trace_packet_enabled() && !tracepoint_enabled(packet));
	emit_packet();
	CHECK(said(""));
	WARNS("no such probe", CHECK(unregister_trace_packet(see_packet, a) == -ENOENT));
	WARNS("NULL for a tracepoint's probe", CHECK(register_trace_packet(NULL, a) == -EINVAL));
	for (int i = 0; i < 3; i++) {
		/* A probe without data, then one with data, then several: from 1 to 0 to 1, from N to 2 to 1. */
		STEP(CHECK(register_trace_packet(see_packet, NULL) == 0));
		CHECK(trace_packet_enabled() && tracepoint_enabled(packet));
		emit_packet();
		CHECK(said("0"));
		STEP(CHECK(unregister_trace_packet(see_packet, NULL) == 0));
		emit_packet();
		CHECK(said("") && !trace_packet_enabled());
		STEP(CHECK(register_trace_packet(see_packet_too, a) == 0));
		emit_packet();
		CHECK(said("aa"));
		WARNS("unregister it first", CHECK(register_trace_packet(see_packet_too, a) == -EEXIST));
		WARNS("no such probe", CHECK(unregister_trace_packet(see_packet_too, b) == -ENOENT));
		WARNS("no such probe", CHECK(unregister_trace_packet(see_packet, a) == -ENOENT));
		STEP(CHECK(register_trace_packet(see_packet, b) == 0 && register_trace_packet(see_packet, NULL) == 0));
		emit_packet();
		CHECK(said("aab0"));
		STEP(CHECK(register_trace_prio_packet(see_packet, c, TRACEPOINT_DEFAULT_PRIO + 1) == 0));
		emit_packet();
		CHECK(said("caab0"));
		STEP(CHECK(register_trace_prio_packet(see_packet_too, c, TRACEPOINT_DEFAULT_PRIO - 1) == 0));
		emit_packet();
		CHECK(said("caab0cc"));
		STEP(CHECK(unregister_trace_packet(see_packet, c) == 0 && unregister_trace_packet(see_packet_too, c) == 0));
		STEP(CHECK(unregister_trace_packet(see_packet_too, a) == 0));
		emit_packet();
		CHECK(said("b0"));
		STEP(CHECK(unregister_trace_packet(see_packet, b) == 0));
		emit_packet();
		CHECK(said("0"));
		STEP(CHECK(unregister_trace_packet(see_packet, NULL) == 0));
		STEP(CHECK(tracepoint_synchronize_unregister() == 0 && jumplabel_trace_synchronize(packet) == 0));
		emit_packet();
		CHECK(said("") && !trace_packet_enabled());
	}
}

/* Each probe is called once, whatever the types of the arguments. Arguments of jumplabel_trace() are evaluated only if there is a probe. */
static void emissions(void)
{
	char t[] = "t";

	STEP(CHECK(register_trace_line(see_line, NULL) == 0 && register_trace_tick(see_tick, t) == 0));
	trace_line("x");
	trace_tick();
	CHECK(said("xt"));
	if (measures)
		jumplabel_trace(line)("not this");
	else
		jumplabel_trace(line)("y");
	jumplabel_trace(tick)();
	CHECK(said("yt"));
	STEP(CHECK(unregister_trace_line(see_line, NULL) == 0 && unregister_trace_tick(see_tick, t) == 0));
	jumplabel_trace(tick)();
	jumplabel_trace(packet)(measure(), of_ports(), 0.5);
	CHECK(measures == 0 && said(""));
	STEP(CHECK(register_trace_packet(see_packet, NULL) == 0));
	jumplabel_trace(packet)(measure(), of_ports(), 0.5);
	CHECK(measures == 1 && said("0"));
	STEP(CHECK(unregister_trace_packet(see_packet, NULL) == 0));
}

/* A tracepoint of base.c, which may be in another library. */
static void elsewhere(void)
{
	int sum = 0;

	trace_from_base(1);
	trace_based(1);
	STEP(CHECK(register_trace_based(see_base, &sum) == 0));
	trace_from_base(10);
	trace_based(100);
	CHECK(sum == 110);
	STEP(CHECK(unregister_trace_based(see_base, &sum) == 0 && jumplabel_trace_synchronize(based) == 0));
	trace_from_base(1000);
	trace_based(1000);
	CHECK(sum == 110);
}

/* A probe may remove itself and add others. It must not wait for itself. */
static void change_probes(void *data, const char *text)
{
	int result = tracepoint_synchronize_unregister();

	tell(text);
	CHECK(result == -EDEADLK && unregister_trace_line(change_probes, data) == 0);
	CHECK(register_trace_line(see_line, NULL) == 0);
}

static void from_a_probe(void)
{
	for (int i = 0; i < 2; i++) {
		STEP(CHECK(register_trace_line(change_probes, i ? told : NULL) == 0));
		WARNS("tracepoint_synchronize_unregister", trace_line("a"));
		CHECK(said("a"));
		trace_line("b");
		CHECK(said("b"));
		STEP(CHECK(unregister_trace_line(see_line, NULL) == 0));
	}
	jump_label_lock();
	WARNS("register_trace", CHECK(register_trace_line(see_line, NULL) == -EDEADLK));
	WARNS("tracepoint_synchronize_unregister", CHECK(tracepoint_synchronize_unregister() == -EDEADLK));
	jump_label_unlock();
	CHECK(!trace_line_enabled());
}

static void find_line(const struct jumplabel_key_info *info, void *data)
{
	const char *file = strrchr(__FILE__, '/') + 1;
	size_t length = strlen(file);

	if (info->name_length == 4 && !memcmp(info->name, "line", 4)) {
		CHECK(info->key == &__tracepoint_line.key.key && info->sites >= 1 && info->element == -1);
		CHECK(info->line == LINE && info->module_length == 0 && info->path_length == 4);
		CHECK(info->file_length > length && !memcmp(info->file + info->file_length - length, file, length));
		++*(int *)data;
	}
}

static void listed_by_name(void)
{
	int found = 0;

	CHECK(jumplabel_for_each_key(find_line, &found) >= 0);
#ifdef JUMPLABEL_FALLBACK
	CHECK(found == 0);
#else
	CHECK(found == 1);
#endif
}

static void tracepoints(void)
{
	probes();
	emissions();
	elsewhere();
	from_a_probe();
	listed_by_name();
}
