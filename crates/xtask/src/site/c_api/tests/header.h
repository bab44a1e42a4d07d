/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What it is for.
 *
 *     a program();
 */
#ifndef HEADER_H
#define HEADER_H

EXTERN_C_BEGIN_

/* ---- Keys ------------------------------------ */

/* Not for readers. */
struct hidden_ {
	int word;
};

/* A key. */
struct key {
	int on; /* a word { */
};

/*
 * Numbers:
 *   -EINVAL   no key
 */
int turn_on(struct key *_key);
void turn_off(struct key *_key);

static __inline__ int seal(struct key *_key)
{
	return _key->on;
}

/* ---- Nothing --------------------------------- */

/* ---- Checks ---------------------------------- */

#ifdef FALLBACK
/* Whether it is on. */
#define IS_ON(y) ((y)->on)
#else
#define IS_ON(x)                                      \
	check_(x)
#endif

// Two lines,
// and a slash.
typedef void (*visit_fn)(const struct key *_key, void *_data);

#ifdef HEADER_IMPLEMENTATION
int more(void);
#endif
#endif
