#define JUMPLABEL_OPTIONAL_IMPLEMENTATION
#include "server.h"

#define KEYS_DEFINE(name, condition)                                                                                   \
	DEFINE_STATIC_KEY_FALSE(uses_##name);                                                                          \
	RECORD_STATIC_KEY(uses_##name, "redis." #name);
KEYS_OF_SETTINGS(KEYS_DEFINE)
KEYS_OF_HISTORY(KEYS_DEFINE)
JUMPLABEL_STARTUP();

int keysModules;

static void keysHold(struct static_key *key, int *held, int wanted)
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
		keysHold(&uses_##name.key, &held, (condition) != 0);                                                   \
	}
#define KEYS_STAY(name, condition)                                                                                     \
	{                                                                                                              \
		static int held;                                                                                       \
		keysHold(&uses_##name.key, &held, held || (condition));                                                \
	}

void keysFollow(void)
{
	KEYS_OF_SETTINGS(KEYS_FOLLOW)
	KEYS_OF_HISTORY(KEYS_STAY)
}
