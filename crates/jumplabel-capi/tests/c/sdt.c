/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Probes of <sys/sdt.h> with arguments of each kind, with headers of `dtrace -h`. With TRACED and <jumplabel/sdt.h>, the program traces itself: the
   checks must follow the semaphores, and the arguments must arrive. Prints `ok`. */
#include <stdbool.h>
#include "sdt.h"

enum sign { MINUS = -1, PLUS = 1 };
enum letter { A, B };

int emit(int x, double real);
int emit(int x, double real)
{
	/* These are initialised here, because a probe does not tell the compiler that it reads the memory at an address. */
	static char text[16] = "text";
	static int numbers[4] = { 1, 2, 3, 4 };
	signed char c = (signed char)-x;
	unsigned char u = (unsigned char)(200 + x);
	char plain = (char)('a' + x);
	bool truth = x > 0;
	short s = (short)-(x + 10);
	unsigned short us = (unsigned short)(65000 + x);
	unsigned q = 4000000000u + (unsigned)x;
	long l = -5L - x;
	unsigned long ul = 60ul + (unsigned long)x;
	long long ll = -6LL - x;
	unsigned long long ull = 0ull - (unsigned)x;
	float single = (float)real + 1;
	enum sign sign = x > 100 ? PLUS : MINUS;
	enum letter letter = x > 100 ? A : B;
	const int constant = x;
	const unsigned char fixed = u;
	volatile short unstable = s;
	int on = 0;

	if (SDT_NONE_ENABLED()) {
		SDT_NONE();
		on++;
	}
	if (SDT_PACKET_SENT_ENABLED()) {
		SDT_PACKET_SENT(ul, s, text);
		on++;
	}
	/* The check is wrapped, as macros for hints in programs do. */
	if (__builtin_expect(!!(SDT_PACKET_RECEIVED_ENABLED()), 0)) {
		SDT_PACKET_RECEIVED(ul, s, text);
		on++;
	}
	if (SDT_SMALL_ENABLED() && ++on)
		SDT_SMALL(c, u, plain, truth);
	if (SDT_WORDS_ENABLED() && ++on)
		SDT_WORDS(s, us, x, q);
	if (SDT_WIDE_ENABLED() && ++on)
		SDT_WIDE(l, ul, ll, ull);
	if (SDT_ADDRESSES_ENABLED() && ++on)
		SDT_ADDRESSES((const char *)text, (void *)numbers, &numbers[1], (const int *)&numbers[2]);
	if (SDT_ARRAYS_ENABLED() && ++on)
		SDT_ARRAYS(text, numbers);
	if (SDT_REALS_ENABLED() && ++on)
		SDT_REALS(real, single);
	if (SDT_KINDS_ENABLED() && ++on)
		SDT_KINDS(sign, letter, truth);
	if (SDT_QUALIFIED_ENABLED() && ++on)
		SDT_QUALIFIED(constant, unstable, fixed);
	if (SDT_CONSTANTS_ENABLED() && ++on)
		SDT_CONSTANTS(-7, 8L, 'x');
	if (SDT_FIVE_ENABLED() && ++on)
		SDT_FIVE(1, 2, 3, 4, x);
	if (SDT_SIX_ENABLED() && ++on)
		SDT_SIX(1, 2, 3, 4, 5, x);
	if (SDT_SEVEN_ENABLED() && ++on)
		SDT_SEVEN(1, 2, 3, 4, 5, 6, x);
	if (SDT_EIGHT_ENABLED() && ++on)
		SDT_EIGHT(1, 2, 3, 4, 5, 6, 7, x);
	if (SDT_NINE_ENABLED() && ++on)
		SDT_NINE(1, 2, 3, 4, 5, 6, 7, 8, x);
	if (SDT_TEN_ENABLED() && ++on)
		SDT_TEN(1, 2, 3, 4, 5, 6, 7, 8, 9, x);
	if (SDT_ELEVEN_ENABLED() && ++on)
		SDT_ELEVEN(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, x);
	if (SDT_TWELVE_ENABLED() && ++on)
		SDT_TWELVE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, x);
	if (SDT_ELSEWHERE_ENABLED() && ++on)
		SDT_ELSEWHERE(x);
	return on + inlined(x);
}

#ifdef TRACED

#include <jumplabel.h>

#define BREAKPOINT
#include "usdt.h"
#define CHECK(what) ((what) ? (void)0 : fail("not so", #what))

/* The bits of a floating-point number. */
static int64_t bits(const void *real, size_t size)
{
	int64_t value = 0;

	memcpy(&value, real, size);
	return value;
}

/* Copies what the addresses point to, because memory on the stack is valid only until the call returns. */
static char copied[2][16];
static int64_t numbers_copied[4];
static void copy_addresses(void)
{
	memcpy(copied[0], (const void *)(uintptr_t)values[0], 16);
	for (int number = 1; number < count; number++)
		numbers_copied[number] = *(const int *)(uintptr_t)values[number];
}

/* Attaches to the probe of this name. From the next look until the tracer has left, only its checks are on. */
static void traced_alone(const char *name, int arguments, const int64_t *expected)
{
	CHECK(emit(3, 1.5) == 0);
	attach((const void *)(uintptr_t)&emit, "sdt", name);
	CHECK(jumplabel_usdt_look() == 1);
	for (int round = 0; round < 3; round++)
		CHECK(emit(3, 1.5) == 1);
	if (hits != 3 || count != arguments)
		fail("arguments of", name);
	for (int number = 0; expected && number < arguments; number++)
		if (values[number] != expected[number])
			fail("argument of", name);
	raise_semaphore(&traced, 1);
	CHECK(jumplabel_usdt_look() == 1);
	raise_semaphore(&traced, -1);
	CHECK(jumplabel_usdt_look() == 1 && emit(3, 1.5) == 1 && hits == 4);
	detach();
	CHECK(jumplabel_usdt_look() == 0);
	CHECK(emit(3, 1.5) == 0 && hits == 4);
}

static void each(void)
{
	static const char *const numbered[8] = { "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve" };
	double real = 1.5;
	float single = 2.5f;
	const int64_t small[] = { -3, 203, 'a' + 3, 1 }, words[] = { -13, 65003, 3, 4000000003 };
	const int64_t wide[] = { -8, 63, -9, -3 }, kinds[] = { -1, 1, 1 }, qualified[] = { 3, -13, 203 }, constants[] = { -7, 8, 'x' };
	const int64_t reals[] = { bits(&real, 8), bits(&single, 4) };
	int64_t numbers[12];

	traced_alone("none", 0, 0);
	traced_alone("small", 4, small);
	traced_alone("words", 4, words);
	traced_alone("wide", 4, wide);
	traced_alone("reals", 2, reals);
#ifdef __cplusplus
	/* <sys/sdt.h> treats enumerations in C++ as unsigned. */
	const int64_t kinds_of_cxx[] = { 0xffffffff, 1, 1 };
	(void)kinds;
	traced_alone("kinds", 3, kinds_of_cxx);
#else
	traced_alone("kinds", 3, kinds);
#endif
	traced_alone("qualified", 3, qualified);
	traced_alone("constants", 3, constants);
	for (int number = 0; number < 8; number++) {
		for (int at = 0; at < 12; at++)
			numbers[at] = at == number + 4 ? 3 : at + 1;
		traced_alone(numbered[number], number + 5, numbers);
	}
	also = copy_addresses;
	traced_alone("addresses", 4, 0);
	CHECK(!strcmp(copied[0], "text") && numbers_copied[1] == 1 && numbers_copied[2] == 2 && numbers_copied[3] == 3);
	traced_alone("arrays", 2, 0);
	CHECK(!strcmp(copied[0], "text") && numbers_copied[1] == 1);
	also = 0;
}

/* Checks in other files. */
static void other_files(void)
{
	CHECK(!other_packet() && !other_elsewhere());
	attach((const void *)(uintptr_t)&emit, "sdt", "packet__sent");
	CHECK(jumplabel_usdt_look() == 1 && other_packet() && !other_elsewhere() && JUMPLABEL_SDT_ENABLED(sdt, packet__sent));
	CHECK(emit(3, 1.5) == 1 && hits == 1 && count == 3 && values[0] == 63 && values[1] == -13);
	detach();
	attach((const void *)(uintptr_t)&emit, "sdt", "elsewhere");
	CHECK(jumplabel_usdt_look() == 1 && !other_packet() && other_elsewhere() && !JUMPLABEL_SDT_ENABLED(sdt, packet__sent));
	detach();
	CHECK(jumplabel_usdt_look() == 0 && !other_elsewhere());
}

/* Keys are listed. If an operator sets a key, it stays so until a tracer comes or goes. */
static struct static_key *found;
static void find(const struct jumplabel_key_info *info, void *data)
{
	if (info->name_length != strlen((const char *)data) || memcmp(info->name, data, info->name_length))
		return;
	CHECK(!found && info->element == -1 && !info->file_length && info->sites > 0);
	found = info->key;
}

static void operators(void)
{
	char name[] = "sdt:packet__received";

	CHECK(jumplabel_for_each_key(find, name) == 22 && found);
	CHECK(!jumplabel_enable(found));
	CHECK(jumplabel_usdt_look() == 0 && emit(3, 1.5) == 1);
	attach((const void *)(uintptr_t)&emit, "sdt", "packet__received");
	CHECK(jumplabel_usdt_look() == 1 && emit(3, 1.5) == 1 && hits == 1);
	CHECK(!jumplabel_disable(found));
	CHECK(jumplabel_usdt_look() == 1 && emit(3, 1.5) == 0 && hits == 1);
	detach();
	CHECK(jumplabel_usdt_look() == 0 && emit(3, 1.5) == 0);
}

int main(void)
{
#ifdef JUMPLABEL_SDT_WATCH
	/* The thread of JUMPLABEL_SDT_WATCH might look in the middle of these tests. */
	(void)each, (void)other_files, (void)operators;
#else
	each();
	other_files();
	operators();
	CHECK(!jumplabel_usdt_watch());
#endif
	/* From here on, the thread looks. */
	attach((const void *)(uintptr_t)&emit, "sdt", "words");
	while (!hits)
		emit(3, 1.5);
	detach();
	while (emit(3, 1.5))
		;
	CHECK(!other_inlined(1));
	puts("ok");
	return 0;
}

#endif
