/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All that the headers offer, in a program whose own names begin with w_, so that any other word may be a macro. With HIDDEN, the headers are
 * included where all names are hidden.
 */
#ifdef HIDDEN
#pragma GCC visibility push(hidden)
#endif
#define JUMPLABEL_ALLOW_DEPRECATED
#define JUMPLABEL_KERNEL_NAMES
#ifdef __cplusplus
#include <jumplabel.hpp>
#include <jumplabel/vlog.hpp>
#else
#include <jumplabel.h>
#endif
#include <jumplabel/agent.h>
#include <jumplabel/assert.h>
#include <jumplabel/kernel.h>
#include <jumplabel/key_names.h>
#ifndef JUMPLABEL_FALLBACK
#include <jumplabel/sdt.h>
#endif
#ifdef UP_THREADS
#include <jumplabel/up_threads.h>
#define W_UP true
#else
#define W_UP false
#endif
#ifdef HIDDEN
#pragma GCC visibility pop
#endif

#ifdef JUMPLABEL_FALLBACK
enum { w_has_sites = 0 };
#else
enum { w_has_sites = 1 };
#endif

#ifdef __cplusplus
#define W_NULL nullptr
#else
#define W_NULL NULL
#endif

#define W_CHECK(w_condition)                                                                                           \
	do {                                                                                                           \
		if (!(w_condition))                                                                                    \
			return __LINE__ % 255 + 1;                                                                     \
	} while (0)

DECLARE_STATIC_KEY_MAYBE(1, w_on);
DEFINE_STATIC_KEY_TRUE(w_on);
static DEFINE_STATIC_KEY_FALSE(w_off);
static DEFINE_STATIC_KEY_FALSE_RO(w_ro);
static DEFINE_STATIC_KEY_TRUE_OR_LOAD(w_loads);
static DEFINE_STATIC_KEY_ARRAY_TRUE(w_array, 3);
static DEFINE_STATIC_KEY_ARRAY_FALSE_OR_LOAD(w_loading_array, 3);
static DEFINE_STATIC_KEY_DEFERRED_FALSE(w_late, 1000000);
static struct static_key_deferred w_rated;
static struct static_key w_raw = STATIC_KEY_INIT_TRUE;
RECORD_STATIC_KEY(w_off, "words.off");
RECORD_STATIC_KEY_ARRAY(w_array, "");

DEFINE_STATIC_NAKED_KEY_FALSE(w_naked);

JUMPLABEL_ASSERTIONS();
static int w_failed;
static void w_fail(const struct jumplabel_assertion *w_assertion, void *w_data)
{
	w_failed += w_assertion->text && w_assertion->file && w_assertion->function && w_assertion->line > 0;
	(void)w_data;
}

static int w_plain(int w_x)
{
	return w_x;
}
static int w_other(int w_x)
{
	return w_x + 1;
}
DEFINE_STATIC_CALL(w_call, w_plain);
DEFINE_STATIC_CALL_NULL(w_nowhere, w_plain);
DEFINE_STATIC_CALL_RET0(w_zero, w_plain);
EXPORT_STATIC_CALL(w_call);

DEFINE_STATIC_MODE(w_mode, 3, 1);

DEFINE_TRACEPOINT(w_trace, TP_PROTO(int w_a, int w_b), TP_ARGS(w_a, w_b));
DECLARE_TRACE_NOARGS(w_bare);
DEFINE_TRACE_NOARGS(w_bare);
static int w_seen;
static void w_probe(void *w_data, int w_a, int w_b)
{
	(void)w_data;
	w_seen += w_a + w_b;
}

DEFINE_STATIC_CALL(w_wait, w_plain);
static void w_begin(void)
{
	w_seen += 100;
}
static const struct pv_hooks w_hooks[2] = { { W_NULL, W_NULL, W_NULL }, { w_begin, w_begin, w_begin } };
DEFINE_PV_OPS_WITH_HOOKS(w_ops, 2, w_hooks, PV_STATIC_CALL(w_wait, w_plain, w_other));
static void w_add_1(int *w_counter)
{
	*w_counter += 1;
}
static void w_add_2(int *w_counter)
{
	*w_counter += 2;
}
static int w_load(const int *w_from)
{
	return *w_from;
}
static void w_count(int *w_counter)
{
	PV_OP(w_ops, w_count, (w_counter), PV_IN_PLACE(w_add_1, PV_DISP32 "lock incl (%[w_counter])"),
	      PV_IN_PLACE(w_add_2, "lock addl $2, (%[w_counter])"));
}
static int w_get(const int *w_from)
{
	int w_got;

	PV_OP_RESULT(w_got, w_ops, w_get, (w_from), PV_IN_PLACE(w_load, PV_DISP32 "movl (%[w_from]), %k[ret]"), PV_CALL(w_load));
	return w_got;
}

static int w_checks(void)
{
	return static_branch_likely(&w_on) + static_branch_unlikely(&w_off) + static_branch_maybe(1, &w_on) +
	       static_branch_likely(&w_loads) + static_branch_unlikely(&w_array[2]) + static_branch_unlikely(&w_loading_array[1]) +
	       static_branch_unlikely(&w_late.key) + static_key_true(&w_raw) + static_key_false(&w_raw) +
	       arch_static_branch(&w_raw, 0) + arch_static_branch_jump(&w_raw, 1) + static_naked_key(w_naked) +
	       static_branch_unlikely(&w_ro);
}

static size_t w_sites;
static void w_visit_key(const struct jumplabel_key_info *w_info, void *w_data)
{
	w_sites += w_info->sites;
	(void)w_data;
}
static void w_visit_site(const struct jumplabel_site *w_site, void *w_data)
{
	w_sites += w_site->size;
	(void)w_data;
}

#ifdef __cplusplus
VLOG_FILE();
DEFINE_VLOG_MODULE(w_levels, "w");
static int w_said;
static void w_sink(const jumplabel::vlog::message &w_message)
{
	w_said += w_message.level;
}
#endif

int main(void)
{
	struct jumplabel_change w_changes[] = { { jumplabel_key(&w_on), true }, { jumplabel_key(&w_off), true } };
	struct jumplabel_request w_requests[] = { jumplabel_request_key(&w_off.key, false), jumplabel_request_call(w_call, w_other),
						  jumplabel_request_mode(&w_mode, 2) };
	struct up_atomic32 w_number = { 0 };
	uint32_t w_expected = 3;
	int w_counter = 0, w_zeros = 0;

	W_CHECK(jumplabel_prepare() == 0 && w_checks() == 7);
	static_branch_enable(&w_off);
	static_branch_inc(&w_late.key);
	static_branch_deferred_inc(&w_late);
	static_branch_slow_dec_deferred(&w_late);
	static_key_deferred_flush(&w_late);
	static_branch_dec(&w_late.key);
	jump_label_rate_limit(&w_rated, 3);
	W_CHECK(w_checks() == 8 && static_key_enabled(&w_off) && static_key_count(&w_raw) == 1);
	W_CHECK(jumplabel_set_all(w_changes, 2) == 0 && jumplabel_commit(w_requests, 3) == 0 && w_checks() == 7);
	W_CHECK(static_call(w_call)(1) == 2 && static_call_query(w_call) == w_other && static_call_update(w_call, w_plain) == 0);
	static_call_cond(w_nowhere)(1);
	W_CHECK(static_call_mod(w_zero)(5) == 0 && static_call_query(w_nowhere) == W_NULL);
	W_CHECK(static_switch(w_mode, 3) == 2 && static_mode_set(w_mode, 0) == 0 && static_mode_get(w_mode) == 0);

	W_CHECK(register_trace_w_trace(w_probe, W_NULL) == 0 && trace_w_trace_enabled());
	trace_w_trace(1, 2);
	jumplabel_trace(w_trace)(3, 4);
	W_CHECK(unregister_trace_w_trace(w_probe, W_NULL) == 0 && tracepoint_synchronize_unregister() == 0 && w_seen == 10);
	trace_w_bare();

	w_count(&w_counter);
	W_CHECK(w_get(&w_counter) == 1 && pv_ops_set(w_ops, 1) == 0 && pv_ops_query(w_ops) == 1 && w_seen == 110);
	w_count(&w_counter);
	W_CHECK(w_get(&w_counter) == 3 && static_call(w_wait)(1) == 2);
	pv_ops_thread_exit(pv_ops_thread_start(w_ops));
	W_CHECK(pv_ops_native(w_ops) == 0);

	up_add32(&w_number, 2);
	W_CHECK(up_fetch_add32(&w_number, 1) == 2 && up_compare_exchange32(&w_number, &w_expected, 9) && up_swap32(&w_number, 1) == 9);
	up_or32(&w_number, 2);
	W_CHECK(up_load32(&w_number) == 3 && jumplabel_up_is_on() == (W_UP && w_has_sites));
#ifdef __x86_64__
	__asm__(ALTERNATIVE("bsrl %1, %0\n\txorl $31, %0", "lzcntl %1, %0", X86_FEATURE_ABM) : "=r"(w_zeros) : "r"(1) : "cc");
	__asm__ __volatile__(LOCK_PREFIX "incl %0" : "+m"(w_counter));
	W_CHECK(w_zeros == 31 && jumplabel_alternatives_apply() == 0);
#endif
	W_CHECK(jumplabel_for_each_key(w_visit_key, W_NULL) >= 0 && jumplabel_for_each_site(&w_off.key, w_visit_site, W_NULL) >= 0);
	jumplabel_set_assert(w_fail, W_NULL);
	JUMPLABEL_ASSERT(w_failed > 0);
	W_CHECK(w_failed == 0 && jumplabel_enable(&jumplabel_assertions.key) == 0 && jumplabel_enable(&w_off.key) == 0);
	JUMPLABEL_ASSERT(w_failed > 0);
	JUMPLABEL_ASSERT_IN(&w_off, w_failed == 2);
	W_CHECK(w_failed == 2);
	jumplabel_set_assert(jumplabel_assert_report, W_NULL);
	jump_label_init_ro();
	W_CHECK(jumplabel_enable(&w_ro.key) < 0 && jumplabel_strerror(-1));
	jump_label_lock();
	static_branch_disable_cpuslocked(&w_on);
	jump_label_unlock();
#ifdef __cplusplus
	jumplabel::vlog::set_sink(w_sink);
	W_CHECK(jumplabel::vlog::set("words=1") == 1 && VLOG_IS_ON(1) && !VLOG_IS_ON(2));
	VLOG(1) << w_counter;
	VLOG_IN(w_levels, 0) << w_counter;
	W_CHECK(w_said == 1);
	jumplabel::enabled_scope w_scope(w_off);
	W_CHECK(w_scope && w_scope.error() == 0);
	W_CHECK(jumplabel::set_all({ jumplabel::change(w_on, true) }) == 0);
#endif
	return 0;
}
