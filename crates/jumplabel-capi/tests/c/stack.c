/* Measures how much stack a flip takes in a signal handler, which runs on a painted stack, once with a flip and once without. */
#include <jumplabel.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 128 << 10, PAINT = 0xa5 };

static DEFINE_STATIC_KEY_FALSE(key);
static unsigned char stack[ROOM];
static volatile int is_to_flip, result;

static void handle(int number)
{
	(void)number;
	if (is_to_flip)
		result = static_key_enabled(&key) ? jumplabel_disable(&key.key) : jumplabel_enable(&key.key);
}

static size_t used(int flips)
{
	size_t free_bytes = 0;

	memset(stack, PAINT, ROOM);
	is_to_flip = flips;
	raise(SIGUSR1);
	while (stack[free_bytes] == PAINT)
		free_bytes++;
	return ROOM - free_bytes;
}

int main(void)
{
	stack_t there;
	struct sigaction action;
	size_t frame, first, second;

	memset(&there, 0, sizeof(there));
	memset(&action, 0, sizeof(action));
	there.ss_sp = stack;
	there.ss_size = ROOM;
	action.sa_handler = handle;
	action.sa_flags = SA_ONSTACK;
	if (sigaltstack(&there, NULL) || sigaction(SIGUSR1, &action, NULL))
		return 1;
	frame = used(0);
	first = used(1) - frame;
	second = used(1) - frame;
	if (result || static_branch_unlikely(&key))
		return 1;
	printf("%zu %zu\n", first, second);
	return 0;
}
