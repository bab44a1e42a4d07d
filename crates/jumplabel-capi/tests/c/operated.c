/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program whose keys operators set: tests/capi/agent.rs. For each line on standard input, it prints which checks find their key on. Its arguments
 * are words for jumplabel_agent_start(), and a selector for jumplabel_agent_no_remote().
 */
#include <jumplabel.h>
#include <jumplabel/agent.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static DEFINE_STATIC_KEY_FALSE(trace);
RECORD_STATIC_KEY(trace, "net.trace");
static DEFINE_STATIC_KEY_ARRAY_TRUE(hooks, 2);
RECORD_STATIC_KEY_ARRAY(hooks, "net.hooks");
static DEFINE_STATIC_KEY_FALSE(secret);
RECORD_STATIC_KEY(secret, "auth.secret");
DEFINE_STATIC_MODE(policy, 3, 1);

JUMPLABEL_STARTUP();

/* Set by a constructor of the program, which runs after JUMPLABEL_STARTUP(). */
static int at_start;

__attribute__((constructor)) static void look(void)
{
	at_start = static_branch_unlikely(&trace);
}

static void print_line(const char *line, void *data)
{
	printf("%s: %s\n", (const char *)data, line);
	fflush(stdout);
}

#ifdef _WIN32
#define geteuid() 0 /* There is no operator here. */
#endif

static void print_change(const char *key, const struct jumplabel_changed *changed, void *data)
{
	int is_me = changed->by == JUMPLABEL_BY_OPERATOR && changed->uid == (unsigned int)geteuid();

	printf("%s: %s %d, by %d %d\n", (const char *)data, key, changed->state, changed->by, is_me);
	fflush(stdout);
}

static int mode(void)
{
	return static_switch(policy, 3);
}

int main(int argc, char **argv)
{
	static char name[] = "log";
	char line[16];

	if (argc > 3 && jumplabel_agent_on_change(argv[3], print_change, name) <= 0)
		puts("no function is registered");
	if (argc > 4 ? jumplabel_agent_no_remote_because(argv[2], argv[4]) : argc > 2 && jumplabel_agent_no_remote(argv[2]))
		puts("no_remote is refused");
	if (argc > 1)
		printf("start: %d\n", jumplabel_agent_start(argv[1], print_line, name));
	printf("at the start: %d\n", at_start);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		/* The agent changes nothing while the program looks. */
		struct jumplabel_agent_paused *paused = jumplabel_agent_pause();

		printf("%d %d %d %d %d\n", static_branch_unlikely(&trace), static_branch_likely(&hooks[0]),
		       static_branch_likely(&hooks[1]), static_branch_unlikely(&secret), mode());
		jumplabel_agent_resume(paused);
		fflush(stdout);
	}
	return 0;
}
