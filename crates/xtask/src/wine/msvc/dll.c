/* The entry of a DLL, its constructors, and the list of functions that it calls when it is unloaded. */
#pragma section(".CRT$XCA", long, read)
#pragma section(".CRT$XCZ", long, read)

typedef void (*function)(void);

__declspec(allocate(".CRT$XCA")) const function first_constructor;
__declspec(allocate(".CRT$XCZ")) const function last_constructor;

static function at_exit[32];
static unsigned int count;

int DllMain(void *module, unsigned int reason, void *reserved);

int atexit(function added)
{
	if (count == sizeof(at_exit) / sizeof(at_exit[0]))
		return 1;
	at_exit[count++] = added;
	return 0;
}

int _DllMainCRTStartup(void *module, unsigned int reason, void *reserved)
{
	int result;

	if (reason == 1) {
		for (const volatile function *at = &first_constructor; at < &last_constructor; at++)
			if (*at)
				(*at)();
	}
	result = DllMain(module, reason, reserved);
	if (reason == 0) {
		while (count)
			at_exit[--count]();
	}
	return result;
}
