/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fail points of C and Rust in one program: test-crates/mixed/failing. A configuration by one side has effect on the other. */
#include <jumplabel.h>
#include <jumplabel/fail.h>

#include "checked.h"

int rust_points(void);
void rust_configures(void);

static int c_points(void)
{
	JUMPLABEL_FAIL_POINT("both", text, return atoi(text));
	JUMPLABEL_FAIL_POINT("c", text, return atoi(text));
	return 0;
}

int main(void)
{
	CHECK(rust_points() == 0 && c_points() == 0);
	CHECK(!jumplabel_fail_cfg("both", "return(2)"));
	CHECK(rust_points() == 2 && c_points() == 2);
	jumplabel_fail_remove("both");
	CHECK(!jumplabel_fail_cfg("rust", "return(3)"));
	CHECK(rust_points() == 3 && c_points() == 0);
	rust_configures();
	CHECK(c_points() == 4 && jumplabel_fail_list(NULL, NULL) == 2);
	setenv("FAILPOINTS", "both=return(5)", 1);
	CHECK(!jumplabel_fail_setup() && rust_points() == 5 && c_points() == 5);
	jumplabel_fail_teardown();
	CHECK(rust_points() == 0 && c_points() == 0);
	puts("ok");
	return 0;
}
