/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Names for elements of arrays of keys, and keys from strings at run time. A project can use this file with the library, or include a copy of it
 * after jumplabel-optional.h. For gcc and clang, with C99, gnu89 or C++11 and later, as the header before it allows.
 *
 *     enum level { LL_DEBUG, LL_VERBOSE, LL_NOTICE };
 *     static DEFINE_STATIC_KEY_ARRAY_FALSE(hot, 3);
 *
 *     RECORD_STATIC_KEY_ELEMENTS(hot, "hot", LL_DEBUG, LL_VERBOSE, LL_NOTICE);       hot[LL_DEBUG], hot[LL_VERBOSE], hot[LL_NOTICE]
 *     RECORD_STATIC_KEY_STRINGS(hot, "hot", "debug", "verbose", "notice");           hot[debug], hot[verbose], hot[notice]
 *
 *     #define LEVELS(X) X(LL_DEBUG) X(LL_VERBOSE) X(LL_NOTICE)                       the first form again, from an X-macro
 *     #define LEVEL(level) , level
 *     RECORD_STATIC_KEY_ELEMENTS(hot, "hot" LEVELS(LEVEL));
 *
 *     JUMPLABEL_KEYS(levels, hot[LL_DEBUG], hot[LL_VERBOSE], trace);                 a table: "hot[LL_DEBUG]", "hot[LL_VERBOSE]", "trace"
 *     struct static_key *key = jumplabel_keys_find(levels, text);                    NULL: not there
 *
 * These replace RECORD_STATIC_KEY_ARRAY, which gives elements numbers: lists, JUMPLABEL=, agents and tools show and accept these names.
 */
#ifndef JUMPLABEL_KEY_NAMES_H
#define JUMPLABEL_KEY_NAMES_H

/* Because of -Wvariadic-macros in gnu89. */
#pragma GCC system_header

#ifndef RECORD_STATIC_KEY
#include "../jumplabel.h"
#endif

/* RECORD_STATIC_KEY_ELEMENTS(keys, name, index...): records of the elements with these indices, 1 to 32 constants. An index is named by its text: an
   enumerator by its name, but a macro by its value. `name` is a string, not "". Use it outside of functions. Each record costs as much as
   RECORD_STATIC_KEY. */
#define RECORD_STATIC_KEY_ELEMENTS(...) JUMPLABEL_NAMES_OF_(JUMPLABEL_NAMES_ELEMENT_, __VA_ARGS__) struct jumplabel_semicolon_
#define JUMPLABEL_NAMES_ELEMENT_(keys, name, at, index) JUMPLABEL_NAMED_RECORD_((keys)[index], #keys "[" #index "]", name "[" #index "]");

/* RECORD_STATIC_KEY_STRINGS(keys, name, string...): the same for all elements, with one string for each, in their order. */
#define RECORD_STATIC_KEY_STRINGS(keys, ...)                                                                                           \
	extern char jumplabel_one_string_for_each_element                                                                              \
		[sizeof(keys) / sizeof((keys)[0]) == JUMPLABEL_NAMES_NUMBER_(__VA_ARGS__) ? 1 : -1];                                   \
	JUMPLABEL_NAMES_OF_(JUMPLABEL_NAMES_STRING_, keys, __VA_ARGS__) struct jumplabel_semicolon_
#define JUMPLABEL_NAMES_STRING_(keys, name, at, string) JUMPLABEL_NAMED_RECORD_((keys)[at], #keys "[" string "]", name "[" string "]");

#if defined(JUMPLABEL_OPTIONAL_LIBRARY) && !JUMPLABEL_OPTIONAL_LIBRARY
#define JUMPLABEL_NAMED_RECORD_(element, path, name) JUMPLABEL_RECORD_AT_(__COUNTER__, &(element).key, 1, 0, path, name)
#else
#define JUMPLABEL_NAMED_RECORD_(element, path, name) JUMPLABEL_RECORD_KEY_AT_(__COUNTER__, &(element), &(element), 1, 0, path, name)
#endif

/* A key and its name. A table ends with NULL for both. A program may also write a table itself: { "debug", &hot[0].key }. */
struct jumplabel_named_key {
	const char *name;
	struct static_key *key;
};

/* Defines a table of 1 to 32 keys with types, each named by its expression. It is `static const`, and may be in a function. Costs 16 bytes per key,
   and the texts. */
#define JUMPLABEL_KEYS(table, ...)                                                                                                     \
	static const struct jumplabel_named_key table[] = { JUMPLABEL_NAMES_OF_(JUMPLABEL_NAMES_ROW_, 0, 0, __VA_ARGS__) { 0, 0 } }
#define JUMPLABEL_NAMES_ROW_(keys, name, at, place) { #place, &(place).key },

/* The key of this name, or NULL if the table has none. Compares with one after the other. Can be called anywhere, signal handlers included. */
__attribute__((__unused__)) static __inline__ struct static_key *jumplabel_keys_find(const struct jumplabel_named_key *_table, const char *_name)
{
	while (_table->name && __builtin_strcmp(_table->name, _name) != 0)
		_table++;
	return _table->key;
}

/* Expands to each(keys, name, at, one) for each further argument `one`; `at` counts from 0. */
#define JUMPLABEL_NAMES_OF_(each, ...) JUMPLABEL_NAMES_AT_(each, __VA_ARGS__)
#define JUMPLABEL_NAMES_AT_(each, keys, ...) JUMPLABEL_NAMES_BY_(JUMPLABEL_NAMES_NUMBER_(__VA_ARGS__), each, keys, __VA_ARGS__)
#define JUMPLABEL_NAMES_BY_(number, each, keys, ...) JUMPLABEL_NAMES_WITH_(number, each, keys, __VA_ARGS__)
#define JUMPLABEL_NAMES_WITH_(number, each, keys, name, ...) JUMPLABEL_NAMES_##number##_(each, keys, name, 0, __VA_ARGS__)
/* The number of arguments after the first. */
#define JUMPLABEL_NAMES_NUMBER_(...)                                                                                                   \
	JUMPLABEL_NAMES_CHOSEN_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8,  \
				7, 6, 5, 4, 3, 2, 1, 0)
#define JUMPLABEL_NAMES_CHOSEN_(_n0, _n1, _n2, _n3, _n4, _n5, _n6, _n7, _n8, _n9, _n10, _n11, _n12, _n13, _n14, _n15,                  \
				_n16, _n17, _n18, _n19, _n20, _n21, _n22, _n23, _n24, _n25, _n26, _n27, _n28, _n29,                        \
				_n30, _n31, _n32, _number, ...)                                                                            \
	_number
#define JUMPLABEL_NAMES_1_(each, keys, name, at, _one) each(keys, name, at, _one)
#define JUMPLABEL_NAMES_2_(each, keys, name, at, _one, ...)                                                                            \
	each(keys, name, at, _one) JUMPLABEL_NAMES_1_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_3_(each, keys, name, at, _one, ...)                                                                            \
	each(keys, name, at, _one) JUMPLABEL_NAMES_2_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_4_(each, keys, name, at, _one, ...)                                                                            \
	each(keys, name, at, _one) JUMPLABEL_NAMES_3_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_5_(each, keys, name, at, _one, ...)                                                                            \
	each(keys, name, at, _one) JUMPLABEL_NAMES_4_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_6_(each, keys, name, at, _one, ...)                                                                            \
	each(keys, name, at, _one) JUMPLABEL_NAMES_5_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_7_(each, keys, name, at, _one, ...)                                                                            \
	each(keys, name, at, _one) JUMPLABEL_NAMES_6_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_8_(each, keys, name, at, _one, ...)                                                                            \
	each(keys, name, at, _one) JUMPLABEL_NAMES_7_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_9_(each, keys, name, at, _one, ...)                                                                            \
	each(keys, name, at, _one) JUMPLABEL_NAMES_8_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_10_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_9_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_11_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_10_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_12_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_11_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_13_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_12_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_14_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_13_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_15_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_14_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_16_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_15_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_17_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_16_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_18_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_17_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_19_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_18_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_20_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_19_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_21_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_20_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_22_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_21_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_23_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_22_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_24_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_23_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_25_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_24_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_26_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_25_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_27_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_26_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_28_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_27_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_29_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_28_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_30_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_29_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_31_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_30_(each, keys, name, at + 1, __VA_ARGS__)
#define JUMPLABEL_NAMES_32_(each, keys, name, at, _one, ...)                                                                           \
	each(keys, name, at, _one) JUMPLABEL_NAMES_31_(each, keys, name, at + 1, __VA_ARGS__)

#endif
