/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The lock, and reserved text. A part of conformance.c. */

/* ---- The lock --------------------------------------------------------------------------------------------------- */

static void locked(void)
{
	CHECK(jumplabel_prepare() == 0 && jumplabel_prepare() == 0);
	CHECK(!counted_is_on() && static_key_count(&counted) == 0);
	jump_label_lock();
	STEP(static_branch_enable_cpuslocked(&counted));
	CHECK(counted_is_on());
	STEP(CHECK(static_branch_inc_cpuslocked(&counted)));
	STEP(static_branch_dec_cpuslocked(&counted));
	CHECK(static_key_count(&counted) == 1 && counted_is_on());
	STEP(static_branch_disable_cpuslocked(&counted));
	CHECK(!counted_is_on());
	/* In Linux, this would be a deadlock. */
	WARNS("static_key_enable", static_branch_enable(&counted));
	WARNS("jump_label_lock", jump_label_lock());
	CHECK(jumplabel_enable(&counted.key) == -EDEADLK);
	CHECK(jumplabel_prepare() == -EDEADLK);
	CHECK(!counted_is_on() && static_key_count(&counted) == 0);
	jump_label_unlock();

	WARNS("does not hold jump_label_lock", static_branch_enable_cpuslocked(&counted));
	WARNS("does not hold jump_label_lock", CHECK(!static_branch_inc_cpuslocked(&counted)));
	WARNS("does not hold jump_label_lock", static_branch_dec_cpuslocked(&counted));
	WARNS("does not hold jump_label_lock", static_branch_disable_cpuslocked(&counted));
	WARNS("does not hold jump_label_lock", jump_label_unlock());
	CHECK(!counted_is_on() && static_key_count(&counted) == 0);
	STEP(static_branch_enable(&counted));
	STEP(static_branch_disable(&counted));
}

/* ---- Reserved text ---------------------------------------------------------------------------------------------- */

#ifdef JUMPLABEL_FALLBACK
static void reserved(void)
{
	CHECK(jump_label_text_reserved((const void *)(uintptr_t)reserved, (const char *)(uintptr_t)reserved + 50) == 0);
}
#else
static bool overlaps(uintptr_t start, uintptr_t end)
{
	for (size_t i = 0; i < site_count(); i++)
		if (jump_entry_code(&jump_table_start[i]) <= end && jump_entry_code(&jump_table_start[i]) + (uintptr_t)jump_entry_size(&jump_table_start[i]) > start)
			return true;
	return false;
}

/* Both ends of the range are included. */
static void reserved(void)
{
	for (size_t i = 0; i < site_count(); i += 17) {
		uintptr_t code = jump_entry_code(&jump_table_start[i]);
		uintptr_t last = (uintptr_t)jump_entry_size(&jump_table_start[i]) - 1;

		for (uintptr_t start = code - 2; start <= code + JUMP_LABEL_NOP_SIZE + 1; start++)
			for (uintptr_t end = start; end <= code + JUMP_LABEL_NOP_SIZE + 1; end++)
				CHECK(jump_label_text_reserved((void *)start, (void *)end) == overlaps(start, end));
		CHECK(jump_label_text_reserved((void *)code, (void *)code) == 1);
		CHECK(jump_label_text_reserved((void *)(code + last), (void *)(code + last)) == 1);
		jump_label_lock();
		CHECK(jump_label_text_reserved((void *)code, (void *)code) == 1);
		jump_label_unlock();
	}
	CHECK(jump_label_text_reserved(&counted, &counted) == 0);
}
#endif
