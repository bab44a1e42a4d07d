/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Static calls. A part of conformance.c. */

static int add_one(int x)
{
	return x + 1;
}

static int add_two(int x)
{
	return x + 2;
}

/* ---- The kernel's boot test, and each name ----------------------------------------------------------------------- */

DEFINE_STATIC_CALL(adding, add_one);
/* Defined in elsewhere.c. */
int add_three(int x);
DECLARE_STATIC_CALL(adding_elsewhere, add_three);

static void targets(void)
{
	CHECK(static_call_initialized && static_call_init() == 0);
	CHECK(!strcmp(STATIC_CALL_KEY_STR(adding), "__SCK__adding") && STATIC_CALL_KEY_PREFIX_LEN == 7);
	CHECK(!strcmp(STATIC_CALL_TRAMP_STR(adding), "__SCT__adding") && STATIC_CALL_TRAMP_PREFIX_LEN == 7);
	for (int i = 0; i < 2; i++) {
		CHECK(static_call(adding)(2) == 3 && static_call_mod(adding)(2) == 3);
		CHECK(static_call_query(adding) == add_one);
		STEP(CHECK(static_call_update(adding, add_two) == 0));
		CHECK(static_call(adding)(2) == 4 && static_call_mod(adding)(2) == 4);
		CHECK(static_call_query(adding) == add_two);
		STEP(static_call_update(adding, &add_two));
		CHECK(static_call(adding)(2) == 4);
		STEP(static_call_update(adding, add_one));
	}
	CHECK(static_call(adding)(2) == 3);

	CHECK(static_call(adding_elsewhere)(2) == 5 && static_call_query(adding_elsewhere) == add_three);
	STEP(static_call_update(adding_elsewhere, add_one));
	CHECK(static_call(adding_elsewhere)(2) == 3 && static_call_query(adding_elsewhere) == add_one);
	STEP(static_call_update(adding_elsewhere, add_three));
	CHECK(static_call(adding_elsewhere)(2) == 5);

	/* Calls of base.c, which may be in another library. Its constructor has updated the second one. */
	CHECK(static_call(base_call)(2) == 102 && static_call_query(base_call) == base_add);
	CHECK(static_call(base_inv_call)(2) == -2 && static_call_query(base_inv_call) == base_negate);
	CHECK(static_call(base_tramp_call)(2) == 102);
	STEP(static_call_update(base_call, add_one));
	STEP(static_call_update(base_inv_call, base_add));
	CHECK(static_call(base_call)(2) == 3 && static_call(base_inv_call)(2) == 102 && call_from_base(2) == 3);
	STEP(static_call_update(base_call, base_add));
	CHECK(static_call(base_call)(2) == 102 && call_from_base(2) == 102);
}

/* A trampoline begins with an instruction on which an indirect branch may land: endbr64, bti c. */
static void landing_pads(void)
{
#if !defined(JUMPLABEL_FALLBACK) && defined(__x86_64__)
	const char *pad = "\xf3\x0f\x1e\xfa";
#elif !defined(JUMPLABEL_FALLBACK) && defined(__aarch64__)
	const char *pad = "\x5f\x24\x03\xd5";
#else
	const char *pad = "";
#endif
	int (*call)(int) = STATIC_CALL_TRAMP_ADDR(adding);
	uintptr_t code = JUMPLABEL_CAST_(uintptr_t, call);

	CHECK(!call || (call(2) == 3 && memcmp(JUMPLABEL_CAST_(const void *, code), pad, strlen(pad)) == 0));
}

/* ---- Calls that call nothing, and calls that return 0 ------------------------------------------------------------ */

static int noted;

static void note(int x)
{
	noted += x;
}

static int evaluations;

static int evaluated(int x)
{
	evaluations++;
	return x;
}

DEFINE_STATIC_CALL_NULL(noting, note);
DEFINE_STATIC_CALL_RET0(zero, add_one);
DEFINE_STATIC_CALL_RET0(zero_pointer, strdup);
DEFINE_STATIC_CALL_RET0(zero_wide, llabs);

#define RETURN0 JUMPLABEL_CAST_(void *, &__static_call_return0)
#define IS_RETURN0(name) (JUMPLABEL_CAST_(jumplabel_function_, static_call_query(name)) == JUMPLABEL_RETURN0_)

static void nowhere(void)
{
	for (int i = 0; i < 2; i++) {
		CHECK(!static_call_query(noting));
		static_call_cond(noting)(evaluated(1));
		static_call(noting)(evaluated(1));
		CHECK(noted == 0 && evaluations == 2);
		STEP(CHECK(static_call_update(noting, note) == 0));
		static_call_cond(noting)(evaluated(5));
		CHECK(noted == 5 && evaluations == 3 && static_call_query(noting) == note);
		STEP(static_call_update(noting, NULL));
		static_call_cond(noting)(1);
		CHECK(noted == 5);
		STEP(static_call_update(noting, NULL));
		noted = evaluations = 0;
	}
}

static void returns_0(void)
{
	CHECK(__static_call_return0() == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(static_call(zero)(7) == 0 && IS_RETURN0(zero));
		STEP(static_call_update(zero, add_one));
		CHECK(static_call(zero)(7) == 8 && static_call_query(zero) == add_one);
		STEP(static_call_update(zero, RETURN0));
	}
	CHECK(static_call(zero_pointer)("text") == NULL && static_call(zero_wide)(-7) == 0);
	STEP(static_call_update(zero_wide, llabs));
	CHECK(static_call(zero_wide)(-0x12345678901ll) == 0x12345678901ll);
	STEP(static_call_update(zero_wide, RETURN0));
	CHECK(static_call(zero_wide)(-0x12345678901ll) == 0);

	/* Calls that did not return 0 at first. One may be in another library. */
	STEP(static_call_update(adding, RETURN0));
	STEP(static_call_update(base_call, RETURN0));
	CHECK(static_call(adding)(2) == 0 && IS_RETURN0(adding));
	CHECK(static_call(base_call)(2) == 0 && IS_RETURN0(base_call) && call_from_base(2) == 0);
	STEP(static_call_update(adding, add_one));
	STEP(static_call_update(base_call, base_add));
	CHECK(static_call(adding)(2) == 3 && static_call(base_call)(2) == 102);
}

/* ---- Signatures -------------------------------------------------------------------------------------------------- */

struct large {
	double values[20];
};

static struct large grown(struct large all, float by)
{
	for (int i = 0; i < 20; i++)
		all.values[i] += (double)by;
	return all;
}

static struct large shrunk(struct large all, float by)
{
	return grown(all, -by);
}

static double mixed(int a, double b, long c, float d, long long e, double f, char g, short h, void *i, int j, double k)
{
	return a + b + (double)c + (double)d + (double)e + f + g + h + (i != NULL) + j + k;
}

static double mixed_twice(int a, double b, long c, float d, long long e, double f, char g, short h, void *i, int j, double k)
{
	return 2 * mixed(a, b, c, d, e, f, g, h, i, j, k);
}

static int sum(int count, ...)
{
	va_list list;
	int result = 0;

	va_start(list, count);
	while (count--)
		result += va_arg(list, int);
	va_end(list);
	return result;
}

static int last(int count, ...)
{
	va_list list;
	int result = 0;

	va_start(list, count);
	while (count--)
		result = va_arg(list, int);
	va_end(list);
	return result;
}

DEFINE_STATIC_CALL(large_call, grown);
DEFINE_STATIC_CALL(mixed_call, mixed);
DEFINE_STATIC_CALL(sum_call, sum);

static void signatures(void)
{
	struct large all = { { 1, 2, 3 } };

	CHECK(static_call(large_call)(all, 2).values[1] == 4 && static_call(large_call)(all, 2).values[19] == 2);
	CHECK(static_call(mixed_call)(1, 2, 3, 4, 5, 6, 7, 8, &all, 9, 10) == 56);
	CHECK(static_call(sum_call)(9, 1, 2, 3, 4, 5, 6, 7, 8, 9) == 45);
	STEP(static_call_update(large_call, shrunk));
	STEP(static_call_update(mixed_call, mixed_twice));
	STEP(static_call_update(sum_call, last));
	CHECK(static_call(large_call)(all, 2).values[1] == 0 && static_call(large_call)(all, 2).values[19] == -2);
	CHECK(static_call(mixed_call)(1, 2, 3, 4, 5, 6, 7, 8, &all, 9, 10) == 112);
	CHECK(static_call(sum_call)(9, 1, 2, 3, 4, 5, 6, 7, 8, 9) == 9);
}

/* ---- Updates from the target and under the lock; refused updates ------------------------------------------------- */

static int once(int x);
DEFINE_STATIC_CALL(updated_by_target, once);

static int once(int x)
{
	CHECK(static_call_update(updated_by_target, add_two) == 0);
	return x + static_call(updated_by_target)(x);
}

static void refusals(void)
{
	uintptr_t data = JUMPLABEL_CAST_(uintptr_t, &noted);

	CHECK(static_call(updated_by_target)(1) == 4 && static_call(updated_by_target)(1) == 3);
	check_text(__LINE__);

	WARNS("DEFINE_STATIC_CALL_NULL()", CHECK(static_call_update(adding, NULL) == -EINVAL));
	WARNS("static_call_update", CHECK(static_call_update(zero, NULL) == -EINVAL));
	CHECK(static_call(adding)(2) == 3 && static_call_query(adding) == add_one);
	WARNS("NULL", CHECK(jumplabel_static_call_update(NULL, NULL, NULL) == -EINVAL));
#if defined(__x86_64__) || defined(__i386__)
	/* Not tested under emulators: they may show their own mappings, so that the library cannot know what is mapped. */
	WARNS("no code is mapped",
	      CHECK(static_call_update(adding, JUMPLABEL_CAST_(int (*)(int), data)) == -EFAULT));
#endif
	data = ~JUMPLABEL_STATIC_CAST_(uintptr_t, 0);
	WARNS("no code is mapped",
	      CHECK(static_call_update(adding, JUMPLABEL_CAST_(int (*)(int), data)) == -EFAULT));
	jump_label_lock();
	WARNS("flip", CHECK(static_call_update(adding, add_two) == -EDEADLK));
	jump_label_unlock();
	CHECK(static_call(adding)(2) == 3);
#ifndef JUMPLABEL_FALLBACK
	for (size_t i = 0; i < site_count(); i++) {
		uintptr_t site = jump_entry_code(&jump_table_start[i]);
		const void *start = JUMPLABEL_CAST_(const void *, site), *before = JUMPLABEL_CAST_(const void *, site - 1);

		CHECK(!jump_entry_is_call(&jump_table_start[i]) || static_call_text_reserved(before, start));
	}
#endif
	CHECK(!static_call_text_reserved(&noted, &noted));
}

static void calls(void)
{
	targets();
	landing_pads();
	nowhere();
	returns_0();
	signatures();
	refusals();
	races(CALL_UPDATES);
}
