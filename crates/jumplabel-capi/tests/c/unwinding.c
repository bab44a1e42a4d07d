/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library calls a hook. A backtrace in the hook reaches main, through the library's frames. */
#include <jumplabel.h>

#include <execinfo.h>

static DEFINE_STATIC_KEY_FALSE(key);
static bool found;

int main(void);

static void hook(const char *message, void *data)
{
	void *frames[64];
	int depth = backtrace(frames, 64);

	(void)message;
	(void)data;
	for (int i = 0; i < depth; i++)
		found |= (uintptr_t)frames[i] - (uintptr_t)main < 100;
}

int main(void)
{
	jumplabel_set_warn(hook, NULL);
	static_branch_dec(&key); /* without an inc */
	return !found;
}
