/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that the program early.c is linked with. Its constructor runs before the program's, and changes objects of the program. */
#include <stdlib.h>

#include "early.h"

DEFINE_STATIC_KEY_FALSE(library_key);

static void probe(void *data, unsigned int x)
{
	(void)data;
	(void)x;
}

static void tried(const char *name, int result)
{
	early.names[early.count] = name;
	early.results[early.count++] = result;
}

#define TRY(call) tried(#call, call)

static void changes(void)
{
	struct jumplabel_request requests[] = {
		jumplabel_request_key(jumplabel_key(&library_key), true),
		jumplabel_request_key(jumplabel_key(&early_key), true),
		jumplabel_request_mode(&early_mode, 1),
		jumplabel_request_call(early_call, early_two),
	};
	struct jumplabel_change both[] = {
		{ jumplabel_key(&early_on), 0 },
		{ jumplabel_key(&early_key), 1 },
	};

	early.before = early_state();
	TRY(jumplabel_enable(jumplabel_key(&early_key)));
	TRY(jumplabel_disable(jumplabel_key(&early_key)));
	TRY(jumplabel_inc(jumplabel_key(&early_counted)));
	TRY(jumplabel_dec(jumplabel_key(&early_on)));
	TRY(jumplabel_enable(jumplabel_key(&early_or_load)));
	TRY((int)jumplabel_verify_key(jumplabel_key(&early_key)));
	TRY(jumplabel_restore_pristine(jumplabel_key(&early_key)));
	TRY(jumplabel_dec_deferred(JUMPLABEL_CAST_(struct static_key_deferred *, &early_deferred)));
	TRY(static_call_update(early_call, early_two));
	TRY(static_mode_set(early_mode, 1));
	TRY(register_trace_early_trace(probe, JUMPLABEL_NULL_));
	TRY(jumplabel_set_all(both, 2));
	TRY(jumplabel_commit(requests, 4));
	TRY(jumplabel_commit(requests + 2, 1));
	TRY(jumplabel_commit(requests + 3, 1));
	early.after = early_state();
}

static void others(void)
{
	/* Keys without checks: one on the stack and one on the heap, made at run time. */
	struct static_key_false made = STATIC_KEY_FALSE_INIT;
	struct static_key_false *in_heap = JUMPLABEL_CAST_(struct static_key_false *, aligned_alloc(8, sizeof(made)));

	*in_heap = made;
	early.made = jumplabel_enable(jumplabel_key(&made));
	if (!early.made)
		early.made = jumplabel_enable(jumplabel_key(in_heap));
	free(in_heap);
	early.own = jumplabel_enable(jumplabel_key(&library_key));
#ifdef UNCHECKED
	early.own_follows = true;
#else
	early.own_follows = static_branch_unlikely(&library_key);
#endif
}

static bool run(void)
{
	early.ran = true;
	changes();
	others();
	return true;
}

#ifdef __cplusplus
/* A dynamic initialiser, which runs like a constructor. */
extern const bool has_run;
const bool has_run = run();
#else
__attribute__((constructor)) static void constructor(void)
{
	run();
}
#endif
