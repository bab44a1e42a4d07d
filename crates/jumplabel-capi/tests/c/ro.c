/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* jump_label_init_ro() seals the read-only keys of the object that calls it: two libraries (LIBRARY is 1 or 2) have one each, the program none. */
#include <errno.h>
#include <stdio.h>

#include <jumplabel.h>

int seal_1(void);
int seal_2(void);
bool is_sealed_1(void);
bool is_sealed_2(void);

#ifdef LIBRARY
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

DEFINE_STATIC_KEY_FALSE_RO(PASTE(key_, LIBRARY));

int PASTE(seal_, LIBRARY)(void)
{
	jump_label_init_ro();
	return static_branch_unlikely(&PASTE(key_, LIBRARY));
}

bool PASTE(is_sealed_, LIBRARY)(void)
{
	struct static_key *key = jumplabel_key(&PASTE(key_, LIBRARY));

	return jumplabel_enable(key) == -EROFS || jumplabel_disable(key) == -EROFS;
}
#else
int main(void)
{
	jump_label_init_ro();
	if (is_sealed_1() || is_sealed_2())
		return 1;
	if (seal_1() || !is_sealed_1() || is_sealed_2())
		return 2;
	if (seal_2() || !is_sealed_1() || !is_sealed_2())
		return 3;
	puts("ok");
	return 0;
}
#endif
