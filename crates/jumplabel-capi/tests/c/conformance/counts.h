/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counts of users, and refused changes. A part of conformance.c. */

/* ---- Counts ----------------------------------------------------------------------------------------------------- */

static DEFINE_STATIC_KEY_FALSE(counted);
static DEFINE_STATIC_KEY_TRUE(counted_true);

static bool counted_is_on(void)
{
	return static_branch_unlikely(&counted);
}

static void counts(void)
{
	CHECK(static_key_count(&counted) == 0 && static_key_count(&counted.key) == 0 && !counted_is_on());
	STEP(CHECK(static_branch_inc(&counted)));
	CHECK(static_key_count(&counted) == 1 && counted_is_on());
	STEP(CHECK(static_key_slow_inc(&counted.key)));
	CHECK(static_key_count(&counted) == 2 && counted_is_on());
	STEP(static_branch_dec(&counted));
	CHECK(static_key_count(&counted) == 1 && counted_is_on() && static_key_enabled(&counted));
#ifdef BREAK_A_COUNT
	counted.key._enabled = 2;
#endif
	STEP(static_key_slow_dec(&counted.key));
	CHECK(static_key_count(&counted) == 0 && !counted_is_on() && !static_key_enabled(&counted));
	CHECK(!jump_label_enabled(&counted));

	/* A key that starts on has one user. */
	CHECK(static_key_count(&counted_true) == 1 && static_branch_likely(&counted_true));
	STEP(static_branch_dec(&counted_true));
	CHECK(static_key_count(&counted_true) == 0 && !static_branch_likely(&counted_true));
	STEP(CHECK(static_branch_inc(&counted_true)));

	/* enable and disable may be repeated; they do not count users. */
	STEP(static_branch_enable(&counted));
	STEP(static_branch_enable(&counted));
	CHECK(static_key_count(&counted) == 1);
	STEP(static_branch_disable(&counted));
	STEP(static_branch_disable(&counted));
	CHECK(static_key_count(&counted) == 0 && !counted_is_on());
}

static void misuse(void)
{
	/* With two users, enable warns and does nothing; disable warns, and the key stays on. */
	STEP(CHECK(static_branch_inc(&counted)));
	STEP(CHECK(static_branch_inc(&counted)));
	WARNS("static_key_enable", static_branch_enable(&counted));
	CHECK(static_key_count(&counted) == 2 && counted_is_on());
	WARNS("static_key_disable", static_branch_disable(&counted));
	CHECK(static_key_count(&counted) == 2 && counted_is_on());
	STEP(static_branch_dec(&counted));
	STEP(static_branch_dec(&counted));

	/* If the key is off, dec warns and does not underflow. */
	WARNS("dec without its inc", static_branch_dec(&counted));
	WARNS("static_key_slow_dec", static_key_slow_dec(&counted.key));
	CHECK(static_key_count(&counted) == 0 && !counted_is_on());

	/* At INT_MAX, inc fails and does not wrap. */
	STEP(CHECK(static_branch_inc(&counted)));
	counted.key._enabled = INT_MAX;
	WARNS("maximum", CHECK(!static_branch_inc(&counted)));
	CHECK(!static_key_fast_inc_not_disabled(&counted.key));
	CHECK(static_key_count(&counted) == INT_MAX && counted_is_on());
	STEP(static_branch_dec(&counted));
	CHECK(static_key_count(&counted) == INT_MAX - 1);
	STEP(CHECK(static_key_fast_inc_not_disabled(&counted.key)));
	CHECK(static_key_count(&counted) == INT_MAX);
	counted.key._enabled = 1;

	/* fast_inc succeeds only if the key is on. */
	STEP(CHECK(static_key_fast_inc_not_disabled(&counted.key)));
	CHECK(static_key_count(&counted) == 2);
	STEP(static_branch_dec(&counted));
	STEP(static_branch_dec(&counted));
	STEP(CHECK(!static_key_fast_inc_not_disabled(&counted.key)));
	CHECK(static_key_count(&counted) == 0);

	/* Addresses that are not keys. */
	WARNS("static_key_enable", static_key_enable(NULL));
	WARNS("misaligned", static_key_disable((struct static_key *)((char *)&counted + 4)));
	WARNS("NULL", CHECK(!static_key_slow_inc(NULL)));
	WARNS("NULL", CHECK(!static_key_fast_inc_not_disabled(NULL)));
}
