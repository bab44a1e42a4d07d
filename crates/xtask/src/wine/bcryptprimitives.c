/* Rust's std needs this function of Windows 10 for the seeds of its hash maps. Wine 8 lacks it. For tests only: the numbers are no secret. */
#include <stddef.h>
#include <stdint.h>

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *bytes, size_t count)
{
	static uint64_t state = 88172645463325252;

	while (count--) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		*bytes++ = (unsigned char)(state >> 32);
	}
	return 1;
}
