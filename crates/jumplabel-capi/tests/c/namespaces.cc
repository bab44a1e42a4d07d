/* What stands outside of functions, twice in one namespace. */
#include <stdio.h>

#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "jumplabel-optional.h"

namespace app {
static DEFINE_STATIC_KEY_FALSE(one);
static DEFINE_STATIC_KEY_FALSE(two);
static DEFINE_STATIC_KEY_ARRAY_FALSE(three, 2);
RECORD_STATIC_KEY(one, "app.one");
RECORD_STATIC_KEY(two, "app.two");
RECORD_STATIC_KEY_ARRAY(three, "app.three");
JUMPLABEL_STARTUP();
} // namespace app

int main()
{
	printf("ok %d\n", (static_branch_unlikely(&app::one) ? 1 : 0) + (static_branch_unlikely(&app::three[1]) ? 2 : 0));
}
