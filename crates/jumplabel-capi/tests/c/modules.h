/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The interface of a DLL (modules_keys.c) for a program (modules.c) and for another DLL that the program loads (modules_plugin.c). */
#ifndef MODULES_H
#define MODULES_H

#include <jumplabel.h>

#ifdef MODULES_KEYS
#define MODULES_API __attribute__((__dllexport__))
MODULES_API DECLARE_STATIC_KEY_FALSE(module_off);
MODULES_API DECLARE_STATIC_KEY_TRUE(module_on);
#else
#define MODULES_API
DECLARE_STATIC_KEY_FALSE_IMPORTED(module_off);
DECLARE_STATIC_KEY_TRUE_IMPORTED(module_on);
#endif

/* The DLL's own checks: 1 if module_off is on, plus 2 if module_on is. */
MODULES_API int module_state(void);
MODULES_API void module_set(bool on);
MODULES_API int module_one(int x);
MODULES_API int module_call_it(int x);
DECLARE_STATIC_CALL(module_call, module_one);

#define STATE()                                                                                                        \
	((static_branch_unlikely(&module_off) ? 1 : 0) + (static_branch_likely(&module_off) ? 10 : 0) +                \
	 (static_branch_likely(&module_on) ? 2 : 0) + (static_branch_unlikely(&module_on) ? 20 : 0))

#endif
