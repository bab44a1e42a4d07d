/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Keys, static calls and modes that change together, or not at all if one of them is refused: before anything is written, or at one of the writes.
 * Prints "ok" and the number of refused writes.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static DEFINE_STATIC_KEY_FALSE(off);
static DEFINE_STATIC_KEY_TRUE(on);
static DEFINE_STATIC_KEY_FALSE(sealed);
DEFINE_STATIC_MODE(mode, 3, 0);

static int one(int x)
{
	return x + 1;
}

static int two(int x)
{
	return x + 2;
}

static void note(void)
{
}

DEFINE_STATIC_CALL(step, one);
DEFINE_STATIC_CALL(other, one);
DEFINE_STATIC_CALL_NULL(optional, note);
DEFINE_STATIC_CALL_RET0(zero, one);

/* The state of all objects: one digit for each, in the order of their definitions. */
static int state(void)
{
	int digits = static_branch_unlikely(&off);

	digits = digits * 10 + static_branch_likely(&on);
	digits = digits * 10 + static_switch(mode, 3);
	digits = digits * 10 + static_call(step)(0);
	digits = digits * 10 + static_call(other)(0);
	digits = digits * 10 + (static_call_query(optional) == note);
	return digits * 10 + static_call(zero)(0);
}

enum { BEFORE = 101100, AFTER = 1022212 };

#ifdef BREAK_TOGETHER
/* A broken twin: the changes before the refused one stay. */
static int one_by_one(const struct jumplabel_request *requests, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && !result; i++)
		result = jumplabel_commit(&requests[i], 1);
	return result;
}
#define jumplabel_commit one_by_one
#endif

static int change(bool forth)
{
	struct jumplabel_request requests[] = {
		jumplabel_request_key(&off.key, forth),
		jumplabel_request_call(step, forth ? two : one),
		jumplabel_request_mode(&mode, forth ? 2 : 0),
		jumplabel_request_key(&on.key, !forth),
		jumplabel_request_call(optional, forth ? note : NULL),
		jumplabel_request_call(other, forth ? two : one),
		/* One call is listed twice. The last change of it wins. */
		jumplabel_request_call(zero, one),
		forth ? jumplabel_request_call(zero, two) :
			jumplabel_request_call(zero, JUMPLABEL_CAST_(void *, &__static_call_return0)),
	};

	return jumplabel_commit(requests, sizeof(requests) / sizeof(*requests));
}

/* ---- Refused before anything is written --------------------------------------------------------------------------- */

__attribute__((unused)) static void refused(void)
{
	struct jumplabel_request bad[7], many[40];
	char room[64] = { 0 };
	int before = state();

	CHECK(jumplabel_seal(&sealed.key) == 0);
	bad[0] = jumplabel_request_key(&sealed.key, true);
	bad[1] = jumplabel_request_key(NULL, true);
	bad[2] = jumplabel_request_mode(&mode, 3);
	bad[3] = jumplabel_request_mode(&mode, -1);
	bad[4] = jumplabel_request_mode((struct static_mode *)(void *)(room + 1), 0);
	bad[5] = jumplabel_request_call(step, NULL);
	bad[6] = bad[0];
	bad[6]._what = 9;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for (int at = 0; at < 3; at++) {
			struct jumplabel_request requests[3] = {
				jumplabel_request_call(step, static_call_query(step) == one ? two : one),
				jumplabel_request_key(&off.key, !static_key_enabled(&off.key)),
				jumplabel_request_key(&on.key, !static_key_enabled(&on.key)),
			};

			requests[at] = bad[i];
			CHECK(jumplabel_commit(requests, 3) == (i == 0 ? -EROFS : -EINVAL) && state() == before);
		}
	}
	/* This list is too long for the stack. */
	for (size_t at = 0; at < sizeof(many) / sizeof(*many); at++)
		many[at] = at == 35 ? bad[4] : jumplabel_request_key(&off.key, !static_key_enabled(&off.key));
	CHECK(jumplabel_commit(many, sizeof(many) / sizeof(*many)) == -EINVAL && state() == before);
	CHECK(jumplabel_commit(NULL, 0) == 0 && jumplabel_commit(NULL, 1) == -EINVAL);
	CHECK(jumplabel_commit(bad, (size_t)-1) == -EINVAL && state() == before);
}

/* ---- Refused at one write ------------------------------------------------------------------------------------------ */

#ifndef JUMPLABEL_FALLBACK

extern const struct jump_entry table[] __asm__("__start___jump_table") __attribute__((visibility("hidden")));
extern const struct jump_entry table_end[] __asm__("__stop___jump_table") __attribute__((visibility("hidden")));

/* Makes pwrite() fail from now on if it writes at `address`. */
static void deny(uintptr_t address)
{
	const unsigned int low = (unsigned int)address;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low + JUMP_LABEL_NOP_SIZE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* Copies all bytes of all sites. */
static size_t copy(unsigned char *bytes)
{
	size_t length = 0;

	for (const struct jump_entry *entry = table; entry < table_end; entry++)
		for (int at = 0; at < JUMP_LABEL_NOP_SIZE; at++)
			bytes[length++] = ((const volatile unsigned char *)jump_entry_code(entry))[at];
	return length;
}

static int refuse_each(void)
{
	int refusals = 0;

	CHECK(jumplabel_set_writer("procmem") == 0 && change(true) == 0 && change(false) == 0);
	for (const struct jump_entry *entry = table; entry < table_end; entry++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			unsigned char before[4096], after[4096];
			int state_before = state(), result;
			size_t length = copy(before);

			deny(jump_entry_code(entry));
			result = change(true);
			CHECK(result == 0 || result == -EACCES);
			CHECK(copy(after) == length && (memcmp(before, after, length) == 0) == (result != 0));
			CHECK((state() == state_before) == (result != 0));
			_exit(result != 0 ? 2 : 0);
		}
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) != 1);
		refusals += WEXITSTATUS(status) == 2;
	}
	return refusals;
}

#else

static int refuse_each(void)
{
	return 0;
}

#endif

int main(void)
{
#ifndef ONLY_WRITES
	refused();
#endif
	for (int i = 0; i < 3; i++) {
		CHECK(change(true) == 0);
		CHECK(state() == AFTER);
		CHECK(change(false) == 0);
		CHECK(state() == BEFORE);
	}
	printf("ok %d\n", refuse_each());
	return 0;
}
