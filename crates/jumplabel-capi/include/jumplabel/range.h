/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The only extension of GNU C in these headers before which __extension__ cannot be written: a range in an initialiser. gcc accepts it without a
 * warning only in a system header, so it has a file of its own.
 */
#pragma GCC system_header

#ifdef __clang__
#define JUMPLABEL_FILL_(count, value)                                                                                  \
	_Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgnu-designator\"")                      \
		[0 ...(count) - 1] = value _Pragma("clang diagnostic pop")
#else
#define JUMPLABEL_FILL_(count, value) [0 ...(count) - 1] = value
#endif
