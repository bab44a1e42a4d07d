/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that Linux does not have. A part of conformance.c. */

/* ---- Functions that Linux does not have ------------------------------------------------------------------------- */

static DEFINE_STATIC_KEY_FALSE(first);
static DEFINE_STATIC_KEY_TRUE(second);
enum { MANY = 300 };
static DEFINE_STATIC_KEY_ARRAY_FALSE(array, MANY);
RECORD_STATIC_KEY(second, "conformance.second");
RECORD_STATIC_KEY_ARRAY(array, "");

struct listed {
	int sites, jumps;
};

static void list_site(const struct jumplabel_site *site, void *data)
{
	struct listed *listed = (struct listed *)data;

	listed->sites++;
	listed->jumps += site->state && !strcmp(site->state, "jump") && site->size >= 2 &&
			 !memcmp(site->bytes, site->address, site->size);
}

static void list_key(const struct jumplabel_key_info *info, void *data)
{
	((int *)data)[0]++;
	((int *)data)[1] += info->key == &second.key && info->name_length == 18 && info->element == -1 &&
			    !memcmp(info->name, "conformance.second", 18);
	((int *)data)[1] += info->element >= 0 && info->key == &array[info->element].key && info->path_length == 5 &&
			    !memcmp(info->path, "array", 5);
}

static void results(void)
{
	static struct jumplabel_change many[MANY];
	struct jumplabel_change both[] = { { &first.key, true }, { &second.key, false } };
	struct jumplabel_change back[] = { { &second.key, true }, { &first.key, false } };
	struct listed listed = { 0, 0 };
	/* The number of all listed keys, and of those that match their RECORD_STATIC_KEY(). */
	int keys[] = { 0, 0 };

	CHECK(jumplabel_enable(NULL) == -EINVAL && jumplabel_enable((struct static_key *)((char *)&first + 1)) == -EINVAL);
	STEP(CHECK(jumplabel_enable(jumplabel_key(&first)) == 0 && jumplabel_enable(&first.key) == 0));
	STEP(CHECK(jumplabel_inc(&first.key) == 0));
	CHECK(jumplabel_enable(&first.key) == -EBUSY && jumplabel_disable(&first.key) == -EBUSY);
	STEP(CHECK(jumplabel_dec(&first.key) == 0 && jumplabel_disable(&first.key) == 0));
	CHECK(jumplabel_dec(&first.key) == -ERANGE);
	CHECK(jumplabel_dec_deferred(NULL) == -EINVAL);

	/* All or nothing. */
	CHECK(jumplabel_set_all(NULL, 0) == 0 && jumplabel_set_all(both, 0) == 0);
	STEP(CHECK(jumplabel_set_all(both, 2) == 0));
	CHECK(static_branch_unlikely(&first) && !static_branch_likely(&second));
	STEP(CHECK(jumplabel_inc(&first.key) == 0));
	STEP(CHECK(jumplabel_set_all(back, 2) == -EBUSY));
	CHECK(static_branch_unlikely(&first) && !static_branch_likely(&second));
	/* A list may have any length. The last change of a key wins, at any place in the list. */
	for (int length = 30; length <= MANY; length += length < 36 ? 1 : 7) {
		for (int i = 0; i < length; i++) {
			many[i].key = &array[i].key;
			many[i].enable = (i + length) % 5 == 0;
		}
		many[length / 2].key = &second.key;
		many[length / 2].enable = length % 2 == 0;
		many[length - 1].key = &second.key;
		many[length - 1].enable = length % 2;
		STEP(CHECK(jumplabel_set_all(many, length) == 0));
		CHECK(static_key_enabled(&second.key) == (length % 2 != 0));
		for (int i = 0; i < length - 1; i++)
			CHECK(i == length / 2 || static_key_enabled(&array[i].key) == ((i + length) % 5 == 0));
		/* An address that is not a key is found before anything changes, at any place in the list. A refusal of the last change also leaves all as it
		   was. */
		many[length - 1].key = NULL;
		many[0].key = &second.key;
		many[0].enable = length % 2 == 0;
		STEP(CHECK(jumplabel_set_all(many, length) == -EINVAL));
		many[length - 1].key = (struct static_key *)((char *)&first + 1);
		STEP(CHECK(jumplabel_set_all(many, length) == -EINVAL));
		many[length - 1].key = &first.key;
		many[length - 1].enable = false;
		STEP(CHECK(jumplabel_set_all(many, length) == -EBUSY));
		CHECK(static_key_enabled(&second.key) == (length % 2 != 0) && static_key_count(&first.key) == 2);
	}
	STEP(CHECK(jumplabel_disable(&second.key) == 0));
	CHECK(jumplabel_set_all(NULL, 1) == -EINVAL && jumplabel_set_all(both, (size_t)-1) == -EINVAL);
	CHECK(jumplabel_set_all((const struct jumplabel_change *)((const char *)both + 1), 1) == -EINVAL);

	CHECK(strstr(jumplabel_strerror(-EBUSY), "several users") && !strcmp(jumplabel_strerror(0), "success"));
	CHECK(strstr(jumplabel_strerror(-12345), "not an error of jumplabel"));

	/* `first` is on: its unlikely sites jump. */
#ifdef JUMPLABEL_FALLBACK
	CHECK(jumplabel_for_each_site(&first.key, list_site, &listed) == 0 && listed.sites == 0);
#else
	CHECK(jumplabel_for_each_site(&first.key, list_site, &listed) == listed.sites);
	CHECK(listed.sites >= 2 && listed.jumps == listed.sites);
	/* After restore_pristine, sites that fall through hold the compiler's instruction again. */
	STEP(CHECK(jumplabel_dec(&first.key) == 0 && jumplabel_dec(&first.key) == 0));
	CHECK(jumplabel_restore_pristine(&first.key) == 0);
	for (size_t i = 0; i < site_count(); i++)
		if (jump_entry_key(&jump_table_start[i]) == &first.key) {
			has_jumped[i] = 0;
		}
	STEP(CHECK(!static_branch_unlikely(&first)));
#endif
	CHECK(jumplabel_for_each_site(NULL, list_site, &listed) == -EINVAL);
	CHECK(jumplabel_for_each_key(list_key, keys) == keys[0]);
#ifdef JUMPLABEL_INDIRECT_ /* On targets with sites, keys have records also with JUMPLABEL_FALLBACK. */
	CHECK(keys[1] == 1 + MANY);
#else
	CHECK(keys[1] == 0);
#endif

	CHECK(jumplabel_set_writer("no such writer") == -ENOENT);
	for (int i = 0; i < 5; i++) {
		static const char *const writers[] = { "procmem", "mprotect", "remap", "auto", NULL };

		int result;

		CHECK(jumplabel_set_writer(writers[i]) == 0);
		STEP(result = jumplabel_enable(&second.key));
#if !defined(__x86_64__) && !defined(REAL_KERNEL)
		/* Some emulators do not notice writes to /proc/self/mem. There the writer's self-test fails. */
		if (result == -EACCES && i == 0)
			continue;
#endif
#if defined(_WIN32) && !defined(JUMPLABEL_FALLBACK)
		/* On Windows there is only one writer. */
		if (!strcmp(writers[i] ? writers[i] : "auto", "procmem") || !strcmp(writers[i] ? writers[i] : "auto", "remap")) {
			CHECK(result == -ENOSYS && !static_branch_likely(&second));
			continue;
		}
#endif
		if (result)
			fprintf(stderr, "%s: %s\n", writers[i] ? writers[i] : "automatic", jumplabel_strerror(result));
		CHECK(result == 0 && static_branch_likely(&second));
		STEP(CHECK(jumplabel_disable(&second.key) == 0));
	}
	CHECK(jumplabel_seal(&second.key) == 0);
	STEP(CHECK(jumplabel_enable(&second.key) == -EROFS));
}
