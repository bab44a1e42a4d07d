/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A C program with Rust code (test-crates/mixed/library). The Rust code is a shared library with its own instance; with ONE_TABLE it is linked into
 * the program. Each side flips its own keys and the other's.
 */
#include "check.h"
#include "objects.h"

DEFINE_STATIC_KEY_FALSE(own_off);
static DEFINE_STATIC_KEY_TRUE(own_on);

int rust_state(void);
struct static_key *rust_key(bool starts_on);
bool rust_flip(struct static_key *starts_off, struct static_key *starts_on, bool flipped);

static int own_state(void)
{
	return STATE(own_off, own_on);
}

static bool flip(struct static_key *starts_off, struct static_key *starts_on, bool flipped)
{
	struct jumplabel_change changes[] = { { starts_off, flipped }, { starts_on, !flipped } };

	return jumplabel_set_all(changes, 2) == 0;
}

static void count_names(const struct jumplabel_key_info *info, void *data)
{
	bool listed = info->name_length > 5 && !memcmp(info->name + info->name_length - 5, "::OFF", 5) && info->sites == 2;

	if (listed) {
		CHECK(info->path == info->name && info->path_length == info->name_length);
		CHECK(info->module == info->path && info->module_length + 5 == info->path_length);
		CHECK(info->file_length > 3 && !memcmp(info->file + info->file_length - 3, ".rs", 3));
		CHECK(info->line > 0 && info->column > 0 && info->element == -1);
	}
	*(int *)data += listed;
}

static void count_in_table(const struct jumplabel_site *site, void *data)
{
	for (size_t i = 0; i < site_count(); i++)
		*(int *)data += jump_entry_code(&jump_table_start[i]) == (uintptr_t)site->address;
}

int main(void)
{
	int names = 0, in_table = 0;

	jumplabel_set_warn(note_warning, NULL);
	CHECK(own_state() == STATE_DEFAULT && rust_state() == STATE_DEFAULT);
	STEP(CHECK(rust_flip(&own_off.key, &own_on.key, true)));
	STEP(CHECK(flip(rust_key(false), rust_key(true), true)));
	CHECK(own_state() == STATE_FLIPPED && rust_state() == STATE_FLIPPED);
	STEP(CHECK(flip(&own_off.key, &own_on.key, false)));
	STEP(CHECK(rust_flip(rust_key(false), rust_key(true), false)));
	CHECK(own_state() == STATE_DEFAULT && rust_state() == STATE_DEFAULT);

	/* Lists go both ways. */
	CHECK(jumplabel_for_each_key(count_names, &names) > 0 && names == 1);
	CHECK(jumplabel_for_each_site(rust_key(true), count_in_table, &in_table) == 2);
#ifdef ONE_TABLE
	CHECK(in_table == 2);
#else
	CHECK(in_table == 0);
#endif
	printf("ok\n");
	return 0;
}
