/*
 * A table and a mode that have changed before a plugin with sites of them is loaded. The plugin may have its own instance of the library. With a
 * second argument, there is another thread, and the writer cannot change operations then.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <jumplabel.h>

#ifdef __cplusplus
extern "C"
#endif
int plugged(int x);

/* Assembler text refers to it, too. */
static int called __asm__("called") __attribute__((used));

static void nothing(int x)
{
	called = x;
}

static void writes(int x)
{
	called = -x;
	if (__builtin_cpu_supports("avx"))
		__asm__ __volatile__("vzeroall" ::: "memory");
}

#ifdef PLUGIN

DECLARE_PV_OPS(late, 2);
DECLARE_STATIC_MODE(policy, 3, 0);

/* The result of the called backend, plus 10 times that of a switch. -1000 if not all registers are kept. */
int plugged(int x)
{
	unsigned char vectors[2][32] = { { 0 }, { 0 } };

	for (int i = 0; i < 32; i++)
		vectors[0][i] = (unsigned char)(i + 1);
	if (__builtin_cpu_supports("avx"))
		__asm__ __volatile__("vmovdqu %0, %%ymm5" :: "m"(vectors[0]));
	PV_OP(late, noted, (x), PV_IN_PLACE(nothing, "movl $7, called(%%rip)"), PV_CALL(writes));
	if (__builtin_cpu_supports("avx"))
		__asm__ __volatile__("vmovdqu %%ymm5, %0" : "=m"(vectors[1]));
	for (int i = 0; i < 32 && __builtin_cpu_supports("avx"); i++)
		if (vectors[1][i] != vectors[0][i])
			return -1000;
	return called + 10 * static_switch(policy, 3);
}

#else

DEFINE_PV_OPS(late, 2);
DEFINE_STATIC_MODE(policy, 3, 0);

static int (*load(const char *plugin))(int)
{
	void *object = dlopen(plugin, RTLD_NOW);
	int (*function)(int) = NULL;

	if (object)
		*(void **)&function = dlsym(object, "plugged");
	return function;
}

static void *waits(void *argument)
{
	char byte;

	return read(*(int *)argument, &byte, 1) < 0 ? argument : NULL;
}

/* The plugin's site stays as it is. Setting the table again is refused, and succeeds once the thread has ended. */
static int beside_a_thread(const char *plugin)
{
	pthread_t thread;
	int ends[2], error;

	if (pipe(ends) || pthread_create(&thread, NULL, waits, ends))
		return 0;
	int (*function)(int) = load(plugin);

	if (!function || function(5) != 27 || pv_ops_set(late, 1) != -EAGAIN || function(6) != 27)
		return 0;
	close(ends[1]);
	pthread_join(thread, NULL);
	while ((error = pv_ops_set(late, 1)) == -EAGAIN)
		sched_yield();
	return error == 0 && function(5) == 15;
}

int main(int count, char **words)
{
	(void)nothing, (void)writes;
	if (pv_ops_set(late, 1) == 0 && static_mode_set(policy, 2) == 0) {
		int (*function)(int) = count > 2 ? NULL : load(words[1]);

		if (function ? function(5) == 15 && function(6) == 14 && pv_ops_native(late) == 0 && function(7) == 27
			     : count > 2 && beside_a_thread(words[1])) {
			printf("ok %d\n", called);
			return 0;
		}
	}
	printf("failed\n");
	return 1;
}

#endif
