/* The list of functions that the loader calls, and the variables of each thread (PE format, "The .tls Section"). */
#pragma section(".CRT$XLA", long, read)
#pragma section(".CRT$XLZ", long, read)
#pragma section(".tls", long, read, write)
#pragma section(".tls$ZZZ", long, read, write)
#pragma section(".rdata$T", long, read)

typedef void (*callback)(void *, unsigned int, void *);

unsigned int _tls_index;
__declspec(allocate(".CRT$XLA")) callback first_callback;
__declspec(allocate(".CRT$XLZ")) callback last_callback;
__declspec(allocate(".tls")) char tls_start;
__declspec(allocate(".tls$ZZZ")) char tls_end;
__declspec(allocate(".rdata$T")) const struct {
	void *start, *end, *index, *callbacks;
	unsigned int zeros, characteristics;
} _tls_used = { &tls_start, &tls_end, &_tls_index, &first_callback + 1, 0, 0 };
