/* A program that obeys the start variable, with a library that does so, too: startup_library.c. */
#include <stdio.h>

#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "jumplabel-optional.h"

static DEFINE_STATIC_KEY_FALSE(key);
RECORD_STATIC_KEY(key, "program.key");
JUMPLABEL_STARTUP();

int library(void);

int main(void)
{
	printf("library %d program %d\n", library(), static_branch_unlikely(&key) ? 1 : 0);
	return 0;
}
