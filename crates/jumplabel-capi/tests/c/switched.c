/* The mode, and a switch in the same file. */
#include "switches.h"

DEFINE_STATIC_MODE(policy, 3, 1);

int switched(void)
{
	switch (static_switch(policy, 3)) {
	case 0:
		return 10;
	case 1:
		return 11;
	default:
		return 12;
	}
}
