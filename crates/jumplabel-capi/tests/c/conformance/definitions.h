/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All ways to define a key. A part of conformance.c. */

/* ---- All ways to define a key ----------------------------------------------------------------------------------- */

#define CONFIG_YES 1
#define CONFIG_ZERO 0

DEFINE_STATIC_KEY_ARRAY_TRUE(array_true, 5);
static DEFINE_STATIC_KEY_ARRAY_FALSE(array_false, 3);
DECLARE_STATIC_KEY_MAYBE(CONFIG_YES, maybe_yes);
DECLARE_STATIC_KEY_MAYBE(CONFIG_ZERO, maybe_zero);
DEFINE_STATIC_KEY_MAYBE(CONFIG_YES, maybe_yes);
DEFINE_STATIC_KEY_MAYBE(CONFIG_ZERO, maybe_zero);
static DEFINE_STATIC_KEY_MAYBE(CONFIG_UNDEFINED, maybe_undefined);
static struct {
	int before;
	struct static_key_false inner;
	struct static_key_true inners[2];
} holder = { 0, STATIC_KEY_FALSE_INIT, { STATIC_KEY_TRUE_INIT, STATIC_KEY_TRUE_INIT } };

/* An inlined function: each copy of it has its own site. */
static inline int checked(int x)
{
	return static_branch_unlikely(&holder.inner) ? x + 100 : x;
}

static void definitions(void)
{
	static DEFINE_STATIC_KEY_FALSE(local);

	CHECK(static_branch_likely(&array_true[0]) && static_branch_unlikely(&array_true[4]));
	CHECK(static_branch_likely(array_true) && !static_branch_likely(array_false));
	STEP(static_branch_disable(&array_true[4]));
	STEP(static_branch_inc(&array_false[2]));
	for (int i = 0; i < 5; i++)
		CHECK(static_key_enabled(&array_true[i]) == (i < 4));
	CHECK(static_branch_likely(&array_true[3]) && !static_branch_unlikely(&array_true[4]));
	CHECK(!static_branch_likely(&array_false[1]) && static_branch_unlikely(&array_false[2]));

	CHECK(static_branch_maybe(CONFIG_YES, &maybe_yes) && !static_branch_maybe(CONFIG_ZERO, &maybe_zero));
	CHECK(!static_branch_maybe(CONFIG_UNDEFINED, &maybe_undefined));
	STEP(static_branch_disable(&maybe_yes));
	STEP(static_branch_enable(&maybe_zero));
	STEP(static_branch_enable(&maybe_undefined));
	CHECK(!static_branch_maybe(CONFIG_YES, &maybe_yes) && static_branch_maybe(CONFIG_ZERO, &maybe_zero));
	CHECK(static_branch_maybe(CONFIG_UNDEFINED, &maybe_undefined));

	CHECK(checked(1) == 1 && checked(2) == 2 && static_branch_likely(&holder.inners[1]));
	STEP(static_branch_enable(&holder.inner));
	STEP(static_branch_disable(&holder.inners[1]));
	CHECK(checked(1) == 101 && checked(2) == 102 && !static_branch_likely(&holder.inners[1]));

	CHECK(!static_branch_unlikely(&local));
	STEP(static_branch_enable(&local));
	CHECK(static_branch_unlikely(&local));
}

/* A key without sites, and checks whose name is wrong about the key. For these, Linux emits the wrong instruction until the key is flipped. */
static DEFINE_STATIC_KEY_FALSE(unused_key);
static struct static_key trap_true = STATIC_KEY_INIT_TRUE;
static struct static_key trap_false = STATIC_KEY_INIT;

static void traps(void)
{
	STEP(static_branch_enable(&unused_key));
	CHECK(static_key_enabled(&unused_key));

	CHECK(static_key_false(&trap_true) && !static_key_true(&trap_false));
	STEP(static_key_disable(&trap_true));
	STEP(static_key_enable(&trap_false));
	CHECK(!static_key_false(&trap_true) && static_key_true(&trap_false));
}

/* ---- _RO keys: sealed ------------------------------------------------------------------------------------------- */

static DEFINE_STATIC_KEY_TRUE_RO(ro_true);
static DEFINE_STATIC_KEY_FALSE_RO(ro_false);
static DEFINE_STATIC_KEY_MAYBE_RO(CONFIG_YES, ro_maybe);

static void sealed(void)
{
	STEP(static_branch_disable(&ro_true));
	STEP(static_branch_enable(&ro_false));
	STEP(CHECK(static_branch_inc(&ro_maybe)));
	STEP(jump_label_init_ro());
	STEP(jump_label_init_ro());

	WARNS("sealed", static_branch_enable(&ro_true));
	WARNS("sealed", static_branch_disable(&ro_false));
	WARNS("sealed", CHECK(!static_branch_inc(&ro_false)));
	WARNS("sealed", static_branch_dec(&ro_maybe));
	STEP(CHECK(!static_key_fast_inc_not_disabled(&ro_maybe.key)));
	STEP(static_branch_disable(&ro_true));
	STEP(static_branch_enable(&ro_false));
	CHECK(!static_branch_likely(&ro_true) && static_branch_unlikely(&ro_false) && static_branch_likely(&ro_maybe));
	CHECK(static_key_count(&ro_true) == 0 && static_key_count(&ro_false) == 1 && static_key_count(&ro_maybe) == 2);
}
