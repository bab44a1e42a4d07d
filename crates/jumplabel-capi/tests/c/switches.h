/* Shared by tests/c/switches.c and switched.c. */
#include <jumplabel.h>

DECLARE_STATIC_MODE(policy, 3, 1);

int switched(void);
