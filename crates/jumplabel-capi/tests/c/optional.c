/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that uses only one header of jumplabel. Its results must be the same with the library and without it. */
#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "jumplabel-optional.h"

#include <errno.h>
#include <limits.h>

#include "checked.h"
#include "optional.h"

static DEFINE_STATIC_KEY_FALSE(off);
static DEFINE_STATIC_KEY_TRUE(on);
static DEFINE_STATIC_KEY_TRUE_RO(sealed);
DEFINE_STATIC_KEY_ARRAY_FALSE(hooks, 3);
static DEFINE_STATIC_KEY_ARRAY_TRUE(filters, 2);
#define CONFIG_YES 1
static DEFINE_STATIC_KEY_MAYBE(CONFIG_YES, maybe);
static DEFINE_STATIC_KEY_MAYBE(CONFIG_NO, never);
RECORD_STATIC_KEY(off, "net.off");
RECORD_STATIC_KEY(on, "");
RECORD_STATIC_KEY_ARRAY(hooks, "");
RECORD_STATIC_KEY_ARRAY(filters, "net.filters");
JUMPLABEL_STARTUP();

static int warnings;

static void count_warning(const char *message, void *data)
{
	CHECK(data == &warnings && message[0]);
	warnings++;
}

static void starts(void)
{
	CHECK(!static_branch_unlikely(&off) && !static_branch_likely(&off) && !static_key_enabled(&off) && static_key_count(&off) == 0);
	CHECK(static_branch_unlikely(&on) && static_branch_likely(&on) && static_key_enabled(&on) && static_key_count(&on) == 1);
	CHECK(!static_branch_unlikely(&hooks[0]) && !static_branch_unlikely(&hooks[2]));
	CHECK(static_branch_likely(&filters[0]) && static_branch_likely(&filters[1]));
	CHECK(static_branch_maybe(CONFIG_YES, &maybe) && !static_branch_maybe(CONFIG_NO, &never));
	CHECK(static_branch_unlikely(&elsewhere) && is_elsewhere());
	CHECK(warnings == 0);
}

static void counts(void)
{
	CHECK(static_branch_inc(&off) && static_branch_inc(&off) && static_key_count(&off) == 2 && static_branch_unlikely(&off));
	CHECK(warnings == 0);
	static_branch_disable(&off);
	CHECK(warnings == 1 && static_key_count(&off) == 2);
	CHECK(jumplabel_disable(jumplabel_key(&off)) == -EBUSY);
	CHECK(static_key_fast_inc_not_disabled(&off.key));
	static_branch_dec(&off);
	static_branch_dec(&off);
	CHECK(static_branch_unlikely(&off));
	static_branch_dec(&off);
	CHECK(!static_branch_unlikely(&off) && !static_key_fast_inc_not_disabled(&off.key) && warnings == 1);
	static_branch_dec(&off);
	CHECK(warnings == 2 && jumplabel_dec(&off.key) == -ERANGE && static_key_count(&off) == 0);
	static_branch_enable(&off);
	static_branch_enable(&off);
	CHECK(static_key_count(&off) == 1 && jumplabel_disable(&off.key) == 0 && jumplabel_enable(&off.key) == 0 && static_branch_unlikely(&off));
	static_branch_disable(&off);
	static_branch_disable(&elsewhere);
	CHECK(!static_branch_unlikely(&off) && !is_elsewhere() && warnings == 2);
	static_branch_enable(&elsewhere);
	CHECK(jumplabel_inc(0) == -EINVAL && jumplabel_strerror(-EINVAL)[0]);
	CHECK(jumplabel_prepare() == 0 && static_key_initialized);
}

static void batches(void)
{
	struct jumplabel_change changes[3];

	changes[0].key = &hooks[0].key;
	changes[1].key = &on.key;
	changes[2].key = &off.key;
	changes[0].enable = changes[2].enable = true;
	changes[1].enable = false;
	CHECK(jumplabel_set_all(changes, 3) == 0);
	CHECK(static_branch_unlikely(&hooks[0]) && !static_branch_likely(&on) && static_branch_unlikely(&off));
	changes[0].enable = changes[2].enable = false;
	CHECK(jumplabel_inc(&off.key) == 0);
	CHECK(jumplabel_set_all(changes, 3) == -EBUSY);
	CHECK(static_branch_unlikely(&hooks[0]) && !static_branch_likely(&on) && static_key_count(&off) == 2);
	CHECK(jumplabel_dec(&off.key) == 0);
	changes[1].enable = true;
	CHECK(jumplabel_set_all(changes, 3) == 0 && jumplabel_set_all(0, 0) == 0 && jumplabel_set_all(0, 1) == -EINVAL);
	CHECK(!static_branch_unlikely(&hooks[0]) && static_branch_likely(&on) && static_key_count(&off) == 0);
}

static struct jumplabel_changed last;

static void hear(const struct jumplabel_changed *changed, void *data)
{
	last = *changed;
	++*(int *)data;
}

static void seals(void)
{
	struct jumplabel_change changes[2];
	int before = warnings, calls = 0, all = jumplabel_on_change(NULL, hear, &calls);

	jump_label_init_ro();
	CHECK(static_branch_likely(&sealed) && static_key_count(&sealed) == 1);
#ifdef __ELF__
	CHECK(jumplabel_disable(&sealed.key) == -EROFS && static_branch_likely(&sealed));
	static_branch_disable(&sealed);
	CHECK(static_branch_likely(&sealed) && warnings == before + 1);
#endif
	/* What a sealed key already has is not refused, also among others. */
	changes[0].key = &off.key;
	changes[1].key = &sealed.key;
	changes[0].enable = changes[1].enable = true;
	before = warnings;
	CHECK(jumplabel_enable(&sealed.key) == 0 && jumplabel_set_all(changes, 2) == 0 && static_branch_unlikely(&off));
	static_branch_enable(&sealed);
	CHECK(static_key_count(&sealed) == 1 && warnings == before && calls == 1 && last.key == &off.key);
	CHECK(jumplabel_seal(&maybe.key) == 0 && jumplabel_seal(&maybe.key) == 0 && jumplabel_inc(&maybe.key) == -EROFS);
	CHECK(jumplabel_enable(&maybe.key) == 0 && jumplabel_disable(&maybe.key) == -EROFS && static_branch_likely(&maybe));
	CHECK(jumplabel_seal(&hooks[1].key) == 0 && jumplabel_disable(&hooks[1].key) == 0 && jumplabel_enable(&hooks[1].key) == -EROFS);
	changes[1].key = &hooks[1].key;
	changes[0].enable = changes[1].enable = false;
	CHECK(jumplabel_set_all(changes, 2) == 0 && !static_branch_unlikely(&off) && !static_branch_unlikely(&hooks[1]) && calls == 2);
	changes[0].enable = changes[1].enable = true;
	CHECK(jumplabel_set_all(changes, 2) == -EROFS && !static_branch_unlikely(&off) && warnings == before);
	CHECK(calls == 2 && jumplabel_on_change_remove(all) == 0);
}

static void flip(const struct jumplabel_key_info *info, void *data)
{
	CHECK(info->line > 0 && info->name_length > 0 && info->file_length > 0);
	CHECK(jumplabel_inc(info->key) == 0 && jumplabel_dec(info->key) == 0);
	++*(int *)data;
}

static void names(void)
{
	char text[256], shorter[20];
	int visited = 0;
	size_t length = jumplabel_optional_list(text, sizeof(text));

	CHECK(jumplabel_for_each_key(flip, &visited) == 8 && visited == 8 && jumplabel_for_each_key(0, 0) == 8);
	CHECK(jumplabel_optional_find_key("net.off") == &off.key && jumplabel_optional_find_key("on") == &on.key);
	CHECK(jumplabel_optional_find_key("hooks[2]") == &hooks[2].key && jumplabel_optional_find_key("net.filters[1]") == &filters[1].key);
	CHECK(!jumplabel_optional_find_key("hooks") && !jumplabel_optional_find_key("hooks[3]") && !jumplabel_optional_find_key("net.of"));
	CHECK(length == strlen(text) && strstr(text, "net.off off\n") && strstr(text, "on on\n") && strstr(text, "net.filters[0] on\n"));
	CHECK(jumplabel_optional_list(0, 0) == length && jumplabel_optional_list(shorter, sizeof(shorter)) == length);
	CHECK(strlen(shorter) < sizeof(shorter) && !memcmp(text, shorter, strlen(shorter)) && shorter[strlen(shorter) - 1] == '\n');
}

/* Turns the key off again, once. */
static void veto(const struct jumplabel_changed *changed, void *data)
{
	int number = (int)*(long *)data;
	CHECK(changed->state == 1);
	/* This call itself still runs, so both results are 1. */
	*(long *)data = jumplabel_on_change_remove(number) == 1 ? jumplabel_on_change_remove(number) : -1;
	CHECK(jumplabel_disable(changed->key) == 0);
}

static void hears(void)
{
	struct jumplabel_change changes[3];
	int calls = 0, numbers[64], all = jumplabel_on_change(NULL, hear, &calls), at;
	long itself = jumplabel_on_change(&off.key, veto, &itself);

	CHECK(all > 0 && itself > 0 && all != itself);
	static_branch_enable(&off);
	CHECK(calls == 2 && itself == 1 && last.key == &off.key && last.by == JUMPLABEL_BY_PROGRAM && !last.mode && !static_branch_unlikely(&off));
	static_branch_enable(&off);
	static_branch_enable(&off);
	static_branch_inc(&off);
	CHECK(calls == 3 && last.state == 1 && static_branch_unlikely(&off));
	static_branch_dec(&off);
	static_branch_dec(&off);
	CHECK(calls == 4 && last.state == 0);
	for (at = 0; at < 3; at++) {
		changes[at].key = &hooks[at].key;
		changes[at].enable = true;
	}
	CHECK(jumplabel_set_all(changes, 3) == 0 && calls == 7);
	changes[0].enable = changes[2].enable = false;
	CHECK(jumplabel_inc(&hooks[2].key) == 0 && jumplabel_set_all(changes, 3) == -EBUSY && calls == 7);
	CHECK(jumplabel_dec(&hooks[2].key) == 0 && jumplabel_on_change_remove(all) == 0 && jumplabel_on_change_remove(all) == 0);
	changes[1].enable = false;
	CHECK(jumplabel_set_all(changes, 3) == 0 && calls == 7);
	for (at = 0; at < 64; at++)
		CHECK((numbers[at] = jumplabel_on_change(&off.key, hear, &calls)) > 0);
	CHECK(jumplabel_on_change(NULL, hear, &calls) == -ENOMEM && jumplabel_on_change(NULL, 0, 0) == -EINVAL);
	static_branch_enable(&off);
	CHECK(calls == 71);
	for (at = 0; at < 64; at++)
		CHECK(jumplabel_on_change_remove(numbers[at]) == 0);
	static_branch_disable(&off);
	CHECK(calls == 71 && jumplabel_on_change_remove(0) == 0 && jumplabel_on_change_remove(-1) == 0);
}

int main(int argc, char **argv)
{
	char text[256];

	if (argc > 1) {
		CHECK(jumplabel_optional_list(text, sizeof(text)) < sizeof(text));
		fputs(text, stdout);
		return argv[0] == 0;
	}
	jumplabel_set_warn(count_warning, &warnings);
	starts();
	counts();
	batches();
	hears();
	names();
	seals();
	printf("ok %d\n", JUMPLABEL_OPTIONAL_LIBRARY);
	return 0;
}
