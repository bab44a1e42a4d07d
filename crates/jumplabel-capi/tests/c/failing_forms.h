/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The forms of fail points, in C and in C++: for tests/c/failing.c. */
#ifndef FAILING_FORMS_H
#define FAILING_FORMS_H

static int plain(void)
{
	JUMPLABEL_FAIL_POINT("plain");
	return 0;
}

static int expression(void)
{
	JUMPLABEL_FAIL_POINT("expression", text, return text ? atoi(text) : -EIO);
	return 0;
}

static int block(void)
{
	int sum = 0;

	JUMPLABEL_FAIL_POINT("block", why, {
		int a = 1, b = 2, c[] = { 3, 4 };

		errno = why ? atoi(why) : 0;
		return a + b + c[0] + c[1];
	});
	return sum;
}

static int asked;

static int is_big(int number)
{
	asked++;
	return number > 3;
}

static int conditional(int number)
{
	JUMPLABEL_FAIL_POINT_IF(is_big(number), "conditional", text, return -ENOSPC);
	JUMPLABEL_FAIL_POINT_IF(is_big(number), "conditional plain");
	return number;
}

static int leaves_loops(void)
{
	int at;

	for (at = 0; at < 10; at++)
		JUMPLABEL_FAIL_POINT("break", text, if (at == 3) break);
	if (at == 10)
		JUMPLABEL_FAIL_POINT("goto", text, goto out);
	else
		JUMPLABEL_FAIL_POINT("else");
	return at;
out:
	return -1;
}

/* The text of the outer point is still valid after the inner point has used its own. */
static int nested(void)
{
	JUMPLABEL_FAIL_POINT("outer", text, {
		int inner = expression();

		return atoi(text) + inner;
	});
	return 0;
}

static void count(void *data)
{
	++*(int *)data;
	CHECK(!jumplabel_fail_cfg("expression", "return(9)"));
}

static char listed[256];

static void note(const char *name, const char *actions, void *data)
{
	size_t length = strlen(listed);

	snprintf(listed + length, sizeof(listed) - length, "%s=%s%s", name, actions, (const char *)data);
}

#ifdef JUMPLABEL_FALLBACK
/* Points have no keys here. While any point is configured, all points ask the library. */
#define CHECK_KEY(name, on) ((void)0)
#else
static void find(const struct jumplabel_key_info *info, void *data)
{
	struct found *found = (struct found *)data;

	if (info->name_length == strlen(found->name) && !memcmp(info->name, found->name, info->name_length)) {
		found->keys++;
		found->on += static_key_enabled(info->key);
		found->sites += (int)info->sites;
	}
}

/* Counts the keys of a point, and those of them that are on. */
static struct found keys(const char *name)
{
	struct found found = { name, 0, 0, 0 };

	CHECK(jumplabel_for_each_key(find, &found) > 0);
	return found;
}

#define CHECK_KEY(name, is_on) CHECK((keys(name).on > 0) == (is_on))
#endif

static void check_forms(void)
{
	int calls = 0;

	CHECK(!plain() && !expression() && !block() && !nested() && conditional(7) == 7 && !asked);
	CHECK(leaves_loops() == 10);
	CHECK_KEY("fail:expression", 0);
	CHECK(!jumplabel_fail_cfg("expression", "1*return(5)->1*return->off"));
	CHECK_KEY("fail:expression", 1);
	CHECK_KEY("fail:block", 0);
	CHECK(expression() == 5);
	CHECK(expression() == -EIO);
	CHECK(expression() == 0);
	CHECK(!jumplabel_fail_cfg("block", "return(7)"));
	CHECK(block() == 10 && errno == 7);
	CHECK(!jumplabel_fail_cfg("conditional", "return"));
	CHECK(conditional(7) == -ENOSPC && conditional(2) == 2);
	/* One of the two points is on. Without keys, both ask. */
	CHECK(asked == 2 + IS_FALLBACK);
	CHECK(!jumplabel_fail_cfg("conditional plain", "yield"));
	CHECK(conditional(2) == 2 && asked == 4 + IS_FALLBACK);
	CHECK(!jumplabel_fail_cfg("break", "return"));
	CHECK(leaves_loops() == 3);
	CHECK(!jumplabel_fail_cfg("break", "off") && !jumplabel_fail_cfg("goto", "return"));
	CHECK(leaves_loops() == -1);
	CHECK(!jumplabel_fail_cfg("outer", "return(10)") && !jumplabel_fail_cfg("expression", "return(5)"));
	CHECK(nested() == 15);
	CHECK(!jumplabel_fail_cfg_callback("plain", count, &calls));
	CHECK(!plain() && !plain() && calls == 2 && expression() == 9);
	jumplabel_fail_remove("plain");
	CHECK(!plain() && calls == 2);
	jumplabel_fail_remove("no such point");

	jumplabel_fail_teardown();
	CHECK(jumplabel_fail_list(note, NULL) == 0 && !expression() && !nested());
	CHECK_KEY("fail:expression", 0);
}

#ifdef __cplusplus
#include <stdexcept>

template <class type> static type generic(type otherwise)
{
	JUMPLABEL_FAIL_POINT("generic", text, return type());
	return otherwise;
}

struct guard {
	int *ended;
	~guard()
	{
		++*ended;
	}
};

static void throws(int *ended)
{
	guard one{ ended };

	JUMPLABEL_FAIL_POINT("throws", text, throw std::runtime_error(text));
}

static void check_cxx(void)
{
	int ended = 0;

	CHECK(generic(3) == 3 && generic(2.5) == 2.5);
	CHECK(!jumplabel_fail_cfg("generic", "return"));
	CHECK(generic(3) == 0 && generic(2.5) == 0);
#ifndef JUMPLABEL_FALLBACK
	CHECK(keys("fail:generic").keys == 2 && keys("fail:generic").on == 2);
#endif
	throws(&ended);
	CHECK(ended == 1 && !jumplabel_fail_cfg("throws", "return(disk on fire)"));
	try {
		throws(&ended);
		CHECK(!"thrown");
	} catch (const std::runtime_error &error) {
		CHECK(!strcmp(error.what(), "disk on fire") && ended == 2);
	}
	auto lambda = [](int number) {
		JUMPLABEL_FAIL_POINT("lambda", text, return 1);
		return number;
	};
	CHECK(lambda(0) == 0 && !jumplabel_fail_cfg("lambda", "return") && lambda(0) == 1);
	jumplabel_fail_teardown();
}
#else
static void check_cxx(void)
{
}
#endif

#endif
