#include <pthread.h>

#define KEYS_DEFINE(name, condition)                                                                                   \
	DEFINE_STATIC_KEY_FALSE(uses_##name);                                                                          \
	RECORD_STATIC_KEY(uses_##name, "memcached." #name);
KEYS_OF_MEMCACHED(KEYS_DEFINE)
JUMPLABEL_STARTUP();

int keys_watchers;

static void keys_hold(struct static_key *key, int *held, int wanted)
{
	if (wanted && !*held)
		static_key_slow_inc(key);
	else if (!wanted && *held)
		static_key_slow_dec(key);
	*held = wanted;
}

#define KEYS_FOLLOW(name, condition)                                                                                   \
	{                                                                                                              \
		static int held;                                                                                       \
		keys_hold(&uses_##name.key, &held, (condition) != 0);                                                  \
	}

void keys_follow(void)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&one);
	KEYS_OF_MEMCACHED(KEYS_FOLLOW)
	pthread_mutex_unlock(&one);
}

#include "flipping.c"
