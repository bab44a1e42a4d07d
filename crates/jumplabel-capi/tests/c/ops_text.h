/* The bytes of the table's sites: a part of tests/c/ops.c. */
#ifndef OPS_TEXT_H
#define OPS_TEXT_H

#if defined(JUMPLABEL_FALLBACK) || !defined(__x86_64__)

static void check_text(int backend)
{
	(void)backend;
}

#else

#define IN_PLACE 1

#ifdef __cplusplus
extern "C" {
#endif
extern const struct jump_entry jump_table_start[] __asm__("__start___jump_table") __attribute__((visibility("hidden")));
extern const struct jump_entry jump_table_stop[] __asm__("__stop___jump_table") __attribute__((visibility("hidden")));
#ifdef __cplusplus
}
#endif

struct arm {
	unsigned mode;
	int place;
};

static unsigned char *arm_bytes(const struct arm *arm)
{
	return (unsigned char *)((uintptr_t)&arm->place + (uintptr_t)(intptr_t)arm->place);
}

static bool is_op(const struct jump_entry *entry)
{
	return (entry->meta >> 2 & 15) == 5;
}

static const struct arm *arms_of(const struct jump_entry *entry, unsigned *arms)
{
	const unsigned *count = (const unsigned *)jump_entry_target(entry);

	*arms = *count;
	return (const struct arm *)(const void *)(count + 1);
}

static bool is_named(const struct jump_entry *entry, const char *name)
{
	unsigned arms;
	const struct arm *arm = arms_of(entry, &arms);

	return (arm[1].mode & 255) == 255 && arm[1].mode >> 8 == strlen(name) && !memcmp(arm_bytes(&arm[1]), name, strlen(name));
}

static unsigned char *site_named(const char *name)
{
	for (const struct jump_entry *entry = jump_table_start; entry < jump_table_stop; entry++)
		if (is_op(entry) && is_named(entry, name))
			return (unsigned char *)jump_entry_code(entry);
	printf("no site of %s\n", name);
	exit(1);
}

/* A nop of each length, from the processor's manual. */
static const char *const nops[] = { "\x0f\x1f\x44\x00\x00", "\x66\x0f\x1f\x44\x00", "\x0f\x1f\x80\x00\x00",
				    "\x0f\x1f\x84\x00\x00", "\x66\x0f\x1f\x84\x00", "\x66\x66\x0f\x1f\x84" };

/* Each site of `events` must hold the native instruction, a nop of the same length, or a jump to the stub. */
static void check_text(int backend)
{
	int sites = 0;

	for (const struct jump_entry *entry = jump_table_start; entry < jump_table_stop; entry++) {
		unsigned arms;
		const struct arm *arm, *found = NULL;
		unsigned char expected[5];

		if (!is_op(entry) || (void *)jump_entry_key(entry) != &events)
			continue;
		sites++;
		arm = arms_of(entry, &arms);
		CHECK(arms == 4 && !(arm[0].mode & 255));
		for (unsigned i = 0; i < arms; i++)
			if ((arm[i].mode & 255) == (unsigned)backend)
				found = &arm[i];
		CHECK(found);
		if (!(found->mode >> 8)) {
			uint32_t far = (uint32_t)((uintptr_t)arm_bytes(found) - jump_entry_code(entry) - 5);

			expected[0] = 0xe9;
			memcpy(expected + 1, &far, 4);
			CHECK(backend != 2 || arm[0].mode >> 8 > 10 || is_named(entry, "load") || is_named(entry, "make"));
		} else if (backend == 0 && is_named(entry, "ticked")) {
			continue;
		} else if (backend == 0) {
			memcpy(expected, arm_bytes(found), 5);
		} else {
			CHECK(backend == 2 && found->mode >> 8 == arm[0].mode >> 8);
			memcpy(expected, nops[(found->mode >> 8) - 5], 5);
			CHECK(!memcmp(arm_bytes(found), expected, 5));
		}
		CHECK(!memcmp((const void *)jump_entry_code(entry), expected, 5));
	}
	CHECK(sites >= 13);
}

#endif

#endif
