/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The assertions of the kernel's own tests. A part of conformance.c. */

/* ---- The kernel's module test: 18 rows, three rounds ------------------------------------------------------------ */

static struct static_key old_true_key = STATIC_KEY_INIT_TRUE;
static struct static_key old_false_key = STATIC_KEY_INIT_FALSE;
static DEFINE_STATIC_KEY_TRUE(true_key);
static DEFINE_STATIC_KEY_FALSE(false_key);

#define ACCESSOR(key, branch)                                                                                          \
	static bool key##_##branch(void)                                                                               \
	{                                                                                                              \
		return branch(&key);                                                                                   \
	}
ACCESSOR(old_true_key, static_key_true)
ACCESSOR(old_false_key, static_key_false)
ACCESSOR(true_key, static_branch_likely)
ACCESSOR(true_key, static_branch_unlikely)
ACCESSOR(false_key, static_branch_likely)
ACCESSOR(false_key, static_branch_unlikely)
ACCESSOR(base_old_true_key, static_key_true)
ACCESSOR(base_inv_old_true_key, static_key_true)
ACCESSOR(base_old_false_key, static_key_false)
ACCESSOR(base_inv_old_false_key, static_key_false)
ACCESSOR(base_true_key, static_branch_likely)
ACCESSOR(base_true_key, static_branch_unlikely)
ACCESSOR(base_inv_true_key, static_branch_likely)
ACCESSOR(base_inv_true_key, static_branch_unlikely)
ACCESSOR(base_false_key, static_branch_likely)
ACCESSOR(base_false_key, static_branch_unlikely)
ACCESSOR(base_inv_false_key, static_branch_likely)
ACCESSOR(base_inv_false_key, static_branch_unlikely)

struct row {
	bool init_state;
	struct static_key *key;
	bool (*accessor)(void);
};

#define ROWS 18

static void check_rows(const struct row *rows, bool inverted)
{
	for (int i = 0; i < ROWS; i++) {
		CHECK(static_key_enabled(rows[i].key) == (rows[i].init_state != inverted));
		CHECK(rows[i].accessor() == static_key_enabled(rows[i].key));
	}
}

static void invert_rows(const struct row *rows)
{
	struct static_key *before = NULL;

	for (int i = 0; i < ROWS; i++) {
		if (rows[i].key == before)
			continue;
		before = rows[i].key;
		if (static_key_enabled(before))
			STEP(static_key_disable(before));
		else
			STEP(static_key_enable(before));
	}
}

static void rows(void)
{
	const struct row all[ROWS] = {
		{ true, &old_true_key, old_true_key_static_key_true },
		{ false, &old_false_key, old_false_key_static_key_false },
		{ true, &true_key.key, true_key_static_branch_likely },
		{ true, &true_key.key, true_key_static_branch_unlikely },
		{ false, &false_key.key, false_key_static_branch_likely },
		{ false, &false_key.key, false_key_static_branch_unlikely },
		{ true, &base_old_true_key, base_old_true_key_static_key_true },
		{ false, &base_inv_old_true_key, base_inv_old_true_key_static_key_true },
		{ false, &base_old_false_key, base_old_false_key_static_key_false },
		{ true, &base_inv_old_false_key, base_inv_old_false_key_static_key_false },
		{ true, &base_true_key.key, base_true_key_static_branch_likely },
		{ true, &base_true_key.key, base_true_key_static_branch_unlikely },
		{ false, &base_inv_true_key.key, base_inv_true_key_static_branch_likely },
		{ false, &base_inv_true_key.key, base_inv_true_key_static_branch_unlikely },
		{ false, &base_false_key.key, base_false_key_static_branch_likely },
		{ false, &base_false_key.key, base_false_key_static_branch_unlikely },
		{ true, &base_inv_false_key.key, base_inv_false_key_static_branch_likely },
		{ true, &base_inv_false_key.key, base_inv_false_key_static_branch_unlikely },
	};

	check_rows(all, false);
	invert_rows(all);
	check_rows(all, true);
	invert_rows(all);
	check_rows(all, false);
}

/* ---- Names that ported code uses for an architecture ------------------------------------------------------------ */

#ifdef JUMPLABEL_KERNEL_NAMES
/* Initialisers as in Linux's dynamic_debug.h. */
static struct {
	union {
		struct static_key_true starts_on;
		struct static_key_false starts_off;
	} key;
} debugged[] = { { .key = { .starts_on = (STATIC_KEY_TRUE_INIT) } }, { .key = { .starts_off = (STATIC_KEY_FALSE_INIT) } } };

static int arch_state(void)
{
	return arch_static_branch(&true_key.key, true) | arch_static_branch_jump(&true_key.key, false) << 1 |
	       arch_static_branch(&false_key.key, false) << 2 | arch_static_branch_jump(&false_key.key, true) << 3;
}

/* A site jumps if the key and the branch differ. The last one starts wrong, and is corrected when its object is loaded. */
static void arch(void)
{
	CHECK(CONFIG_JUMP_LABEL == 1 && HZ == 1000);
	CHECK(arch_state() == (2 | 8) && arch_static_branch_jump(&false_key.key, false) == false);
	STEP(static_branch_disable(&true_key));
	STEP(static_branch_enable(&false_key));
	CHECK(arch_state() == (1 | 4));
	STEP(static_branch_enable(&true_key));
	STEP(static_branch_disable(&false_key));
	CHECK(static_branch_likely(&debugged[0].key.starts_on) && !static_branch_unlikely(&debugged[1].key.starts_off));
	STEP(static_branch_enable(&debugged[1].key.starts_off));
	CHECK(static_branch_unlikely(&debugged[1].key.starts_off));
}
#else
static void arch(void)
{
}
#endif

/* ---- The kernel's boot test ------------------------------------------------------------------------------------- */

static DEFINE_STATIC_KEY_TRUE(boot_true);
static DEFINE_STATIC_KEY_FALSE(boot_false);

static void boot(void)
{
	for (int i = 0; i < 2; i++) {
		CHECK(static_key_enabled(&boot_true.key) == true);
		CHECK(static_key_enabled(&boot_false.key) == false);
		CHECK(static_branch_likely(&boot_true));
		CHECK(static_branch_unlikely(&boot_true));
		CHECK(!static_branch_likely(&boot_false));
		CHECK(!static_branch_unlikely(&boot_false));
		STEP(static_branch_disable(&boot_true));
		STEP(static_branch_enable(&boot_false));
		CHECK(static_key_enabled(&boot_true.key) == false);
		CHECK(static_key_enabled(&boot_false.key) == true);
		CHECK(!static_branch_likely(&boot_true));
		CHECK(!static_branch_unlikely(&boot_true));
		CHECK(static_branch_likely(&boot_false));
		CHECK(static_branch_unlikely(&boot_false));
		STEP(static_branch_enable(&boot_true));
		STEP(static_branch_disable(&boot_false));
	}
}
