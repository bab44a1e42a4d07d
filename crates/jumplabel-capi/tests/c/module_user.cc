// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that imports the module of module.cc. Prints "ok".
#include <cstdio>
import checks;

int main()
{
	int before = state() == 6 && inside() == 6 && of_a_template(1) == 1;
	int flipped = flip() == 0 && state() == 9 && inside() == 9 && of_a_template(1) == 1;

	if (!before || !flipped)
		return 1;
	std::puts("ok");
	return 0;
}
