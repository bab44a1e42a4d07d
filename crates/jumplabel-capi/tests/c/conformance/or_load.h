/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keys that also work if nothing may be patched. A part of conformance.c. */

static DEFINE_STATIC_KEY_FALSE_OR_LOAD(load_off);
DECLARE_STATIC_KEY_TRUE_OR_LOAD(load_on);
DEFINE_STATIC_KEY_TRUE_OR_LOAD(load_on);
static DEFINE_STATIC_KEY_ARRAY_FALSE_OR_LOAD(load_array, 3);
static DEFINE_STATIC_KEY_ARRAY_TRUE_OR_LOAD(load_array_on, 2);
static struct {
	int before;
	struct static_key_true_or_load inner;
} load_holder = { 0, STATIC_KEY_TRUE_OR_LOAD_INIT };
/* Defined in elsewhere.c. */
DECLARE_STATIC_KEY_FALSE_OR_LOAD(load_elsewhere);

#define BOTH_ARMS(x) (static_branch_likely(x) == static_branch_unlikely(x) ? static_branch_unlikely(x) : 2)

/* A decimal digit for each key: 0 or 1, or 2 if its checks differ. */
static int load_state(void)
{
	return BOTH_ARMS(&load_off) + BOTH_ARMS(&load_on) * 10 + BOTH_ARMS(&load_array[2]) * 100 +
	       BOTH_ARMS(&load_array_on[1]) * 1000 + BOTH_ARMS(&load_holder.inner) * 10000 + BOTH_ARMS(&load_elsewhere) * 100000;
}

static void count_loading(const struct jumplabel_site *site, void *data)
{
	if (site->state && !strcmp(site->state, "load"))
		++*(int *)data;
}

static int loading(struct static_key *key)
{
	int count = 0;

	CHECK(jumplabel_for_each_site(key, count_loading, &count) >= 0);
	return count;
}

static void *come_and_go_loading(void *failures)
{
	for (int i = 0; i < 100; i++) {
		if (!static_branch_inc(&load_off) || load_state() % 10 != 1)
			__atomic_fetch_add((int *)failures, 1, __ATOMIC_RELAXED);
		static_branch_dec(&load_off);
	}
	return NULL;
}

static void or_load(void)
{
	const struct jumplabel_change changes[] = { { &load_off.key, false }, { &load_on.key, true }, { &counted.key, true } };
	pthread_t thread[3];
	int failures = 0;

	STEP(CHECK(load_state() == 11010));
#ifdef JUMPLABEL_FALLBACK
	CHECK(loading(&load_off.key) == 0);
#else
	CHECK(loading(&load_off.key) > 2 && loading(&load_on.key) > 2);
#endif
	STEP(static_branch_enable(&load_off));
	STEP(static_branch_disable(&load_on));
	/* From then on, their sites do not load. */
	CHECK(loading(&load_off.key) == 0 && loading(&load_on.key) == 0);
	STEP(CHECK(static_branch_inc(&load_array[2]) && static_branch_inc(&load_array[2])));
	STEP(static_branch_disable(&load_array_on[1]));
	STEP(static_branch_disable(&load_holder.inner));
	STEP(CHECK(static_branch_inc(&load_elsewhere)));
	CHECK(load_state() == 100101 && !static_branch_likely(&load_array[0]) && static_branch_maybe(CONFIG_YES, &load_array_on[0]));
	STEP(static_branch_dec(&load_array[2]));
	CHECK(load_state() == 100101 && static_key_count(&load_array[2]) == 1);
	STEP(static_branch_dec(&load_array[2]));
	STEP(static_branch_dec(&load_elsewhere));
	CHECK(load_state() == 1);
	WARNS("dec without its inc", static_branch_dec(&load_elsewhere));

	STEP(CHECK(jumplabel_set_all(changes, sizeof changes / sizeof *changes) == 0));
	CHECK(load_state() == 10 && counted_is_on());
	STEP(static_branch_disable(&counted));
#ifndef JUMPLABEL_FALLBACK
	/* Sites that fall through were patched. Sites that jump still load until their key is flipped. */
	CHECK(loading(&load_array[0].key) == 1 && loading(&load_array_on[0].key) == 1);
	CHECK(jumplabel_loading() >= 2 && jumplabel_prepare_key(NULL) == -EINVAL);
	STEP(CHECK(jumplabel_prepare_key(&load_array_on[0].key) == 1 && jumplabel_prepare_key(&load_array_on[0].key) == 0));
	CHECK(loading(&load_array[0].key) == 1 && loading(&load_array_on[0].key) == 0 && jumplabel_loading() >= 1);
	STEP(CHECK(jumplabel_prepare() == 0));
	CHECK(load_state() == 10 && loading(&load_array[0].key) == 1 && loading(&load_array_on[0].key) == 0);
	for (size_t i = 0; i < site_count(); i++) {
		const struct jump_entry *entry = &jump_table_start[i];
		bool jumps = static_key_enabled(jump_entry_key(entry)) != jump_entry_is_branch(entry);
		unsigned char found[JUMP_LABEL_NOP_SIZE], expected[JUMP_LABEL_NOP_SIZE];

		if (jump_entry_is_call(entry))
			continue;
		memcpy(found, (const void *)jump_entry_code(entry), (size_t)jump_entry_size(entry));
		if (jump_entry_key(entry) == &load_array[0].key)
			expect(expected, i, true, jump_entry_target(entry), found);
		else if (jump_entry_loads(entry))
			expect_loading(expected, i, jumps, found);
		else
			expect(expected, i, jumps, jump_entry_target(entry), found);
		CHECK(memcmp(found, expected, (size_t)jump_entry_size(entry)) == 0);
	}
	CHECK(jumplabel_restore_pristine(&load_on.key) == 0);
	for (size_t i = 0; i < site_count(); i++)
		if (jump_entry_key(&jump_table_start[i]) == &load_on.key)
			has_jumped[i] = 0;
#endif
	CHECK(load_state() == 10);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&thread[i], NULL, come_and_go_loading, &failures) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	CHECK(failures == 0 && load_state() == 10);
}
