/* Sites in another file than the table's: tests/c/ops.c. */
#include "ops.h"

void elsewhere(unsigned *counter)
{
	count(counter);
	count(counter);
}
