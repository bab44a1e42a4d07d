/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Linux lacks. A part of conformance.c. */

/* ---- What Linux lacks ------------------------------------------------------------------------------------------- */

static DEFINE_STATIC_KEY_FALSE(first);
static DEFINE_STATIC_KEY_TRUE(second);

struct listed {
	int sites, jumps;
};

static void list_site(const struct jumplabel_site *site, void *data)
{
	struct listed *listed = (struct listed *)data;

	listed->sites++;
	listed->jumps += site->state && !strcmp(site->state, "jump") && site->size >= 4 &&
			 !memcmp(site->bytes, site->address, site->size);
}

static void list_key(const struct jumplabel_key_info *info, void *data)
{
	(void)info;
	++*(int *)data;
}

static void results(void)
{
	struct jumplabel_batch batch;
	struct listed listed = { 0, 0 };
	int keys = 0;

	CHECK(jumplabel_enable(NULL) == -EINVAL && jumplabel_enable((struct static_key *)((char *)&first + 1)) == -EINVAL);
	STEP(CHECK(jumplabel_enable(jumplabel_key(&first)) == 0 && jumplabel_enable(&first.key) == 0));
	STEP(CHECK(jumplabel_inc(&first.key) == 0));
	CHECK(jumplabel_enable(&first.key) == -EBUSY && jumplabel_disable(&first.key) == -EBUSY);
	STEP(CHECK(jumplabel_dec(&first.key) == 0 && jumplabel_disable(&first.key) == 0));
	CHECK(jumplabel_dec(&first.key) == -ERANGE);
	CHECK(jumplabel_dec_deferred(NULL) == -EINVAL);

	/* All or nothing. */
	jumplabel_batch_init(&batch);
	CHECK(jumplabel_batch_commit(&batch) == 0);
	jumplabel_batch_set(&batch, &first.key, true);
	jumplabel_batch_set(&batch, &second.key, false);
	STEP(CHECK(jumplabel_batch_commit(&batch) == 0));
	CHECK(static_branch_unlikely(&first) && !static_branch_likely(&second));
	STEP(CHECK(jumplabel_inc(&first.key) == 0));
	jumplabel_batch_init(&batch);
	jumplabel_batch_set(&batch, &second.key, true);
	jumplabel_batch_set(&batch, &first.key, false);
	STEP(CHECK(jumplabel_batch_commit(&batch) == -EBUSY));
	CHECK(static_branch_unlikely(&first) && !static_branch_likely(&second));
	for (int i = 0; i < JUMPLABEL_BATCH_CAPACITY; i++)
		jumplabel_batch_set(&batch, &second.key, true);
	STEP(CHECK(jumplabel_batch_commit(&batch) == -E2BIG));
	CHECK(jumplabel_batch_commit(NULL) == -EINVAL);
	jumplabel_batch_init(&batch);
	jumplabel_batch_set(&batch, NULL, true);
	CHECK(jumplabel_batch_commit(&batch) == -EINVAL);

	CHECK(strstr(jumplabel_strerror(-EBUSY), "several users") && !strcmp(jumplabel_strerror(0), "success"));
	CHECK(strstr(jumplabel_strerror(-12345), "not an error of jumplabel"));

	/* `first` is on: its unlikely sites jump. */
#ifdef JUMPLABEL_FALLBACK
	CHECK(jumplabel_for_each_site(&first.key, list_site, &listed) == 0 && listed.sites == 0);
#else
	CHECK(jumplabel_for_each_site(&first.key, list_site, &listed) == listed.sites);
	CHECK(listed.sites >= 2 && listed.jumps == listed.sites);
	/* settle: sites that fall through are again what the compiler emitted. */
	STEP(CHECK(jumplabel_dec(&first.key) == 0 && jumplabel_dec(&first.key) == 0));
	CHECK(jumplabel_settle(&first.key) == 0);
	for (size_t i = 0; i < site_count(); i++)
		if (jump_entry_key(&jump_table_start[i]) == &first.key) {
			has_jumped[i] = 0;
		}
	STEP(CHECK(!static_branch_unlikely(&first)));
#endif
	CHECK(jumplabel_for_each_site(NULL, list_site, &listed) == -EINVAL);
	CHECK(jumplabel_for_each_key(list_key, &keys) == keys);

	CHECK(jumplabel_set_writer("no such writer") == -ENOENT);
	for (int i = 0; i < 5; i++) {
		static const char *const writers[] = { "procmem", "mprotect", "swap", "auto", NULL };

		int result;

		CHECK(jumplabel_set_writer(writers[i]) == 0);
		STEP(result = jumplabel_enable(&second.key));
#if !defined(__x86_64__) && !defined(REAL_KERNEL)
		/* Under an emulator that does not see what is written to /proc/self/mem, the canary refuses. */
		if (result == -EACCES && i == 0)
			continue;
#endif
		if (result)
			fprintf(stderr, "%s: %s\n", writers[i] ? writers[i] : "automatic", jumplabel_strerror(result));
		CHECK(result == 0 && static_branch_likely(&second));
		STEP(CHECK(jumplabel_disable(&second.key) == 0));
	}
	CHECK(jumplabel_seal(&second.key) == 0);
	STEP(CHECK(jumplabel_enable(&second.key) == -EROFS));
}
