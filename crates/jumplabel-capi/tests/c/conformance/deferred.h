/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keys with a deferred dec. A part of conformance.c. */

/* ---- Deferred keys ---------------------------------------------------------------------------------------------- */

#define LONG_TIME 1000000

static DEFINE_STATIC_KEY_DEFERRED_FALSE(deferred, LONG_TIME);
static DEFINE_STATIC_KEY_DEFERRED_TRUE(deferred_true, 30);
static DEFINE_STATIC_KEY_DEFERRED_FALSE(deferred_sealed, LONG_TIME);
static struct static_key_deferred deferred_old = { STATIC_KEY_INIT_FALSE, 0, { 0, false, NULL } };

static void deferrals(void)
{
	struct timespec moment = { 0, 5000000 };

	WARNS("static_key_slow_dec_deferred", static_branch_slow_dec_deferred(&deferred));
	STEP(static_key_deferred_flush(&deferred));

	/* The first dec of two users takes effect at once. The last user leaves later; further decs until then have no effect. */
	STEP(CHECK(static_branch_deferred_inc(&deferred)));
	STEP(CHECK(static_branch_deferred_inc(&deferred)));
	STEP(static_branch_slow_dec_deferred(&deferred));
	CHECK(static_key_count(&deferred.key) == 1);
	STEP(static_branch_slow_dec_deferred(&deferred));
	STEP(static_branch_slow_dec_deferred(&deferred));
	CHECK(static_key_count(&deferred.key) == 1 && static_branch_unlikely(&deferred.key));

	/* After an inc before the time is up, the due dec brings the count to 1, not to 0. */
	STEP(CHECK(static_branch_inc(&deferred.key)));
	CHECK(static_key_count(&deferred.key) == 2);
	STEP(static_key_deferred_flush(&deferred));
	CHECK(static_key_count(&deferred.key) == 1 && static_branch_unlikely(&deferred.key));
	STEP(static_branch_slow_dec_deferred(&deferred));
	STEP(static_key_deferred_flush(&deferred));
	CHECK(static_key_count(&deferred.key) == 0 && !static_branch_unlikely(&deferred.key));
	STEP(static_key_deferred_flush(&deferred));

	/* A due dec counts off only the user that has left. enable takes that user's place. */
	STEP(CHECK(static_branch_inc(&deferred.key)));
	STEP(static_branch_slow_dec_deferred(&deferred));
	STEP(static_branch_enable(&deferred.key));
	STEP(static_key_deferred_flush(&deferred));
	CHECK(static_key_count(&deferred.key) == 1 && static_branch_unlikely(&deferred.key));
	/* disable counts that user off at once, so a user that comes later is not counted off. */
	STEP(static_branch_slow_dec_deferred(&deferred));
	STEP(static_branch_disable(&deferred.key));
	CHECK(static_key_count(&deferred.key) == 0 && !static_branch_unlikely(&deferred.key));
	STEP(CHECK(static_branch_inc(&deferred.key)));
	STEP(static_key_deferred_flush(&deferred));
	CHECK(static_key_count(&deferred.key) == 1 && static_branch_unlikely(&deferred.key));
	STEP(static_branch_dec(&deferred.key));
	/* Sealing counts that user off, so that the key does not stay on. */
	STEP(CHECK(static_branch_inc(&deferred_sealed.key)));
	STEP(static_branch_slow_dec_deferred(&deferred_sealed));
	STEP(CHECK(jumplabel_seal(&deferred_sealed.key.key) == 0));
	CHECK(static_key_count(&deferred_sealed.key) == 0 && !static_branch_unlikely(&deferred_sealed.key));

	/* Without a flush, the dec takes effect after the interval. */
	CHECK(static_branch_likely(&deferred_true.key));
	STEP(static_branch_slow_dec_deferred(&deferred_true));
	for (int i = 0; i < 2000 && static_key_enabled(&deferred_true.key); i++)
		nanosleep(&moment, NULL);
	CHECK(!static_branch_likely(&deferred_true.key) && static_key_count(&deferred_true.key) == 0);

	jump_label_rate_limit(&deferred_old, LONG_TIME);
	STEP(CHECK(static_key_slow_inc(&deferred_old.key)));
	STEP(static_key_slow_dec_deferred(&deferred_old));
	CHECK(static_key_count(&deferred_old.key) == 1);
	STEP(static_key_deferred_flush(&deferred_old));
	CHECK(static_key_count(&deferred_old.key) == 0);
}
