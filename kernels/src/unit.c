/* The part of the kernel that is in C, on x86-64: sites of its own key and of a key in Rust, a static call, and flips. */
#include <jumplabel.h>

/* Defined in checks.rs. */
extern struct static_key_false kernel_trace;

static DEFINE_STATIC_KEY_TRUE(counting);

static int once(int number)
{
	return number + 1;
}

static int twice(int number)
{
	return number + 2;
}

DEFINE_STATIC_CALL(count, once);

/* Bits 0 and 1 are set if the kernel's key is on, bit 2 if ours is. Not inlined, so that each site exists once. */
__attribute__((noinline)) unsigned int unit_seen(void)
{
	unsigned int seen = 0;

	if (static_branch_unlikely(&kernel_trace))
		seen |= 1;
	if (static_branch_likely(&kernel_trace))
		seen |= 2;
	if (static_branch_likely(&counting))
		seen |= 4;
	return seen;
}

static int warnings;

/* Counts a warning if it reads "jumplabel: static_key_enable(0x...): this thread ...". */
static void warned(const char *message, void *data)
{
	warnings += data == NULL && message[0] == 'j' && message[11] == 's' && message[28] == '(';
}

/* Flips the unit's key and static call. Returns 0, a negative errno, or the number of the check that failed. */
int unit_check(void)
{
	int error = jumplabel_disable(jumplabel_key(&counting));

	if (error || unit_seen() & 4 || static_call(count)(1) != 2)
		return error ? error : 1;
	static_branch_enable(&counting);
	error = static_call_update(count, twice);
	if (error || !(unit_seen() & 4) || static_call(count)(1) != 3)
		return error ? error : 2;
	jump_label_lock();
	static_branch_disable_cpuslocked(&counting);
	error = jumplabel_enable(jumplabel_key(&counting));
	/* Both calls are refused. The first finds no function to warn; the second calls `warned`. */
	static_branch_enable(&counting);
	jumplabel_set_warn(warned, NULL);
	static_branch_enable(&counting);
	jump_label_unlock();
	if (error >= 0 || unit_seen() & 4 || warnings != 1)
		return 3;
	static_branch_enable(&counting);
	return static_call_update(count, once);
}

static bool on = true;

/* Flips a key: off, on again at the next call, and so on. Returns 0 or a negative errno. */
int unit_enable(void)
{
	on = !on;
	return on ? jumplabel_enable(jumplabel_key(&counting)) : jumplabel_disable(jumplabel_key(&counting));
}

/* Flips the key like unit_enable(), by functions with Linux's names. */
void unit_branch_enable(void)
{
	on = !on;
	if (on)
		static_branch_enable(&counting);
	else
		static_branch_disable(&counting);
}

/* Flips the key like unit_enable(), through a list of up to 40 changes, of which the last one counts. */
int unit_set_all(size_t length)
{
	static struct jumplabel_change changes[40];
	size_t number;

	on = !on;
	for (number = 0; number < length; number++)
		changes[number] = (struct jumplabel_change){ jumplabel_key(&counting), on };
	return jumplabel_set_all(changes, length);
}
