/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Functions that begin with a check, with a uprobe on each: it is set, hit or not, and removed, while the key is on or off, and while it changes. The
 * kernel does this if tracefs is available. The test also makes the same writes as the kernel itself, in the same order
 * (crates/jumplabel/tests/uprobes/probe.rs has a table of them).
 *
 *     probed        all checks are right as soon as a probe is gone
 *     probed broken, built with JUMPLABEL_NO_SITE_PREFIX: dies, or prints what is wrong
 */
#include <jumplabel.h>

#include "checked.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

extern const struct jump_entry jump_table_start[] __asm__("__start___jump_table") __attribute__((visibility("hidden")));
extern const struct jump_entry jump_table_stop[] __asm__("__stop___jump_table") __attribute__((visibility("hidden")));

DEFINE_STATIC_KEY_FALSE(off);
DEFINE_STATIC_KEY_TRUE(on);

/* The compiler does not know the results of these calls, so it cannot move their code before the check. */
__attribute__((noinline)) static int zero(void)
{
	int value = 0;

	__asm__ __volatile__("" : "+r"(value));
	return value;
}

__attribute__((noinline)) static int one(void)
{
	int value = 1;

	__asm__ __volatile__("" : "+r"(value));
	return value;
}

__attribute__((noinline, aligned(64))) static int first_off(void)
{
	return static_branch_unlikely(&off) ? one() : zero();
}

__attribute__((noinline, aligned(64))) static int first_on(void)
{
	return static_branch_unlikely(&on) ? one() : zero();
}

static struct probe {
	unsigned char *at;
	unsigned char file[5];
	int by_kernel;
	int memory;
} probe;

static void write_at(int offset, const void *bytes, size_t count)
{
	CHECK(pwrite(probe.memory, bytes, count, (off_t)(uintptr_t)(probe.at + offset)) == (ssize_t)count);
}

/* True if the kernel accepts the line. */
static int tell(const char *file, const char *line)
{
	char path[128];
	int fd, told;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/%s", file);
	fd = open(path, O_WRONLY | O_APPEND);
	if (fd < 0)
		return 0;
	told = write(fd, line, strlen(line)) > 0;
	close(fd);
	return told;
}

static int enable(int value)
{
	char file[96];

	snprintf(file, sizeof(file), "events/uprobes/jumplabel_c_%d/enable", (int)getpid());
	return tell(file, value ? "1" : "0");
}

/* Sets the uprobe. Its offset in the file comes from the program's own mapping. */
static int set_by_kernel(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], event[4096], program[2048] = "";
	uintptr_t offset = 0;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		uintptr_t start, end, from;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNxPTR " %*s %*s %2047s", &start, &end, &from, program) == 4 &&
		    start <= (uintptr_t)probe.at && (uintptr_t)probe.at < end) {
			offset = (uintptr_t)probe.at - start + from;
			break;
		}
	}
	fclose(maps);
	CHECK(offset);
	snprintf(event, sizeof(event), "p:jumplabel_c_%d %s:0x%" PRIxPTR, (int)getpid(), program, offset);
	return tell("uprobe_events", event) && enable(1);
}

static void set(void)
{
	if (probe.by_kernel)
		CHECK(set_by_kernel());
	else
		write_at(0, "\xcc", 1);
	CHECK(*(volatile unsigned char *)probe.at == 0xcc);
}

static int is_nop(void)
{
	return !memcmp(probe.file, "\x0f\x1f\x44\0\0", 5);
}

static void hit(int (*function)(void))
{
	if (probe.by_kernel) {
		for (int i = 0; i < 3; i++)
			function();
	} else if (is_nop()) {
		write_at(1, "\1\2\3\4", 4);
		write_at(0, "\xe8", 1);
	}
}

static void remove_it(int was_hit)
{
	char event[64];

	if (probe.by_kernel) {
		snprintf(event, sizeof(event), "-:jumplabel_c_%d", (int)getpid());
		CHECK(enable(0) && tell("uprobe_events", event));
		return;
	}
	if (was_hit && is_nop()) {
		write_at(0, "\xcc", 1);
		write_at(1, probe.file + 1, 4);
	}
	write_at(0, probe.file, 1);
}

static int probed(struct static_key *key, int (*function)(void))
{
	for (int number = 0; number < 8; number++) {
		int state = number & 1, was_hit = number & 2, changes = number & 4;

		CHECK(!(state ? jumplabel_enable(key) : jumplabel_disable(key)) && function() == state);
		set();
		if (changes) {
			if (state ? jumplabel_disable(key) : jumplabel_enable(key)) {
				remove_it(0);
				return fprintf(stderr, "a flip was refused\n"), 1;
			}
		}
		if (was_hit)
			hit(function);
		remove_it(was_hit);
		if (function() != (changes ? !state : state))
			return fprintf(stderr, "%d: a wrong arm\n", number), 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int (*functions[])(void) = { first_off, first_on };
	struct static_key *keys[] = { &off.key, &on.key };
	int ways = 2;

	probe.memory = open("/proc/self/mem", O_RDWR);
	CHECK(probe.memory >= 0);
	if (access("/sys/kernel/tracing/uprobe_events", W_OK)) {
		puts("no uprobes of the kernel here, which need root and tracefs: the same writes instead");
		ways = 1;
	}
	for (int i = 0; i < 2; i++) {
		/* A function pointer can only be converted by copying its bytes. */
		memcpy(&probe.at, &functions[i], sizeof(probe.at));
		memcpy(probe.file, probe.at, sizeof(probe.file));
		/* The function must begin with the site. */
		for (const struct jump_entry *entry = jump_table_start; entry < jump_table_stop; entry++)
			if (jump_entry_key(entry) == keys[i])
				CHECK(jump_entry_code(entry) - (uintptr_t)probe.at == (argc > 1 ? 0 : 1));
		for (int way = 0; way < ways; way++) {
			probe.by_kernel = way;
			if (probed(keys[i], functions[i]))
				return 1;
		}
	}
	(void)argv;
	puts("ok");
	return 0;
}
