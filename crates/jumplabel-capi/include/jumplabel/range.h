/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The one extension of GNU C in these headers that __extension__ cannot stand in front of: a range in an initialiser. gcc
 * takes it without a word from a system header only, so that it has a file of its own.
 */
#pragma GCC system_header

#ifdef __clang__
#define JUMPLABEL_FILL_(count, value)                                                                                  \
	_Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgnu-designator\"")                      \
		[0 ...(count) - 1] = value _Pragma("clang diagnostic pop")
#else
#define JUMPLABEL_FILL_(count, value) [0 ...(count) - 1] = value
#endif
