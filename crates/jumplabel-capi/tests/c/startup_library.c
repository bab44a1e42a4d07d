/* A shared library with keys that the start variable sets. */
#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "jumplabel-optional.h"

static DEFINE_STATIC_KEY_FALSE(key);
RECORD_STATIC_KEY(key, "library.key");
JUMPLABEL_STARTUP();

int library(void);

int library(void)
{
	return static_branch_unlikely(&key) ? 1 : 0;
}
