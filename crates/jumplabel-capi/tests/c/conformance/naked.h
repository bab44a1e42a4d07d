/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Naked keys. A part of conformance.c. */

DEFINE_STATIC_NAKED_KEY_FALSE(naked_off);
DEFINE_STATIC_NAKED_KEY_TRUE(naked_on);
/* Defined in elsewhere.c. */
DECLARE_STATIC_NAKED_KEY(naked_elsewhere);

/* Checks keys by name, and by address. */
static int naked_state(void)
{
	return static_naked_key(naked_off) | static_naked_key(&naked_on) << 1 | static_naked_key(&naked_elsewhere) << 2;
}

static void *come_and_go_naked(void *failures)
{
	for (int i = 0; i < 100; i++) {
		if (!static_key_slow_inc(&naked_off.key) || !static_naked_key(naked_off))
			__atomic_fetch_add((int *)failures, 1, __ATOMIC_RELAXED);
		static_key_slow_dec(&naked_off.key);
	}
	return NULL;
}

static void naked(void)
{
	struct jumplabel_change changes[] = { { &naked_off.key, false },
					      { &naked_on.key, true },
					      { &naked_elsewhere.key, false },
					      { &counted.key, true } };
	pthread_t thread[3];
	int failures = 0;

	CHECK(naked_state() == 2 && !static_key_enabled(&naked_off.key) && static_key_count(&naked_on.key) == 1);
	STEP(static_key_enable(&naked_off.key));
	CHECK(naked_state() == 3);
	STEP(static_key_disable(&naked_on.key));
	CHECK(naked_state() == 1);
	STEP(CHECK(static_key_slow_inc(&naked_elsewhere.key) && static_key_slow_inc(&naked_elsewhere.key)));
	CHECK(naked_state() == 5 && static_key_count(&naked_elsewhere.key) == 2);
	WARNS("2 users", static_key_disable(&naked_elsewhere.key));
	STEP(static_key_slow_dec(&naked_elsewhere.key));
	CHECK(naked_state() == 5);

	/* A batch of these and a key of the other kind. */
	STEP(CHECK(jumplabel_set_all(changes, 4) == 0));
	CHECK(naked_state() == 2 && counted_is_on());
	STEP(static_branch_disable(&counted));
	WARNS("dec without its inc", static_key_slow_dec(&naked_off.key));

	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&thread[i], NULL, come_and_go_naked, &failures) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	CHECK(failures == 0 && naked_state() == 2);
}
