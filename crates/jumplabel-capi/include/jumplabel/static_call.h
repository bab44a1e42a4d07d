/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Static calls: calls whose target is a choice at run time, at the price of a direct call. The names and types are those of
 * Linux; docs/linux-api.md lists them one by one.
 *
 *     int plain(int x), fast(int x);
 *     DEFINE_STATIC_CALL(hook, plain);              in one file
 *     DECLARE_STATIC_CALL(hook, plain);             in others
 *
 *     static_call(hook)(1);                         a call of a trampoline, which jumps to plain(), until
 *     static_call_update(hook, fast);               makes it jump to fast(), for every thread
 *
 * The call is an ordinary one, so that any signature will do, structures by value, floating point, variable arguments; C++
 * exceptions pass. A static call carries code and no data: what the new target reads must have been published before, and what
 * the old one reads must stay until no thread is in it any more.
 *
 *     DEFINE_STATIC_CALL_NULL(name, func)   leads nowhere: static_call_cond(name)(...) does nothing but evaluate its arguments
 *     DEFINE_STATIC_CALL_RET0(name, func)   returns 0; for functions that return an integer or a pointer
 *     static_call_query(name)               where it leads; NULL of one that leads nowhere
 *
 * The name of a static call is the only one of its kind in a program or shared library.
 */
#ifndef JUMPLABEL_STATIC_CALL_H
#define JUMPLABEL_STATIC_CALL_H

#include "jump_label.h"

/* A static call without its type. All members are the library's. */
struct static_call_key {
	void *slot;
	void *func;
	void *first;
	unsigned int flags;
} __attribute__((aligned(8)));

#define STATIC_CALL_KEY(name) __SCK__##name
#define STATIC_CALL_KEY_STR(name) "__SCK__" #name
#define STATIC_CALL_TRAMP(name) __SCT__##name
#define STATIC_CALL_TRAMP_STR(name) "__SCT__" #name

#ifdef __cplusplus
extern "C" {
#define JUMPLABEL_EXTERN_C_ extern "C"
#else
#define JUMPLABEL_EXTERN_C_ extern
#endif

/* Returns 0, whatever its arguments. Its address is the same in all objects of a process. */
long __static_call_return0(void);

/* Leads the call to `func`. As <jumplabel.h>'s functions: 0, or a negative errno. */
int jumplabel_static_call_update(struct static_call_key *key, void (*func)(void));

#ifdef __cplusplus
}
#endif

#define DECLARE_STATIC_CALL(name, func)                                                                                \
	JUMPLABEL_EXTERN_C_ struct static_call_key STATIC_CALL_KEY(name);                                             \
	JUMPLABEL_EXTERN_C_ __typeof__(func) STATIC_CALL_TRAMP(name)

/* The trampoline, and its table entry (kind 2). A function that nobody calls holds the text, because only in functions the compiler
   tells the assembler its name for `func`. */
#define JUMPLABEL_STATIC_CALL_(name, func)                                                                             \
	DECLARE_STATIC_CALL(name, func);                                                                               \
	struct static_call_key STATIC_CALL_KEY(name) = { 0, 0, 0, 0 };                                                 \
	__attribute__((used, noinline, cold)) static void jumplabel_define_##name##_(void)                             \
	{                                                                                                              \
		__asm__ __volatile__(JUMPLABEL_OBJECT_                                                                 \
			".pushsection .text.__SCT__" #name ", \"ax\", \"progbits\"\n"                                  \
			".balign 8\n"                                                                                  \
			".globl __SCT__" #name "\n"                                                                    \
			".type __SCT__" #name ", STT_FUNC\n"                                                           \
			"__SCT__" #name ":\n"                                                                          \
			JUMPLABEL_TRAMPOLINE_(".L__SCT__" #name "_site", JUMPLABEL_KEY_TEXT_, "__SCK__" #name)         \
			".size __SCT__" #name ", . - __SCT__" #name "\n"                                 \
			".reloc .L__SCT__" #name "_site, BFD_RELOC_NONE, __SCK__" #name "\n"                           \
			".popsection\n"                                                                                \
			".pushsection " JUMPLABEL_NAKED_TABLE_("__SCT__" #name) "\n"                                   \
			".balign 4\n"                                                                                  \
			".long .L__SCT__" #name "_site - .\n"                                                          \
			JUMPLABEL_TRAMPOLINE_TO_(".L__SCT__" #name "_site", JUMPLABEL_KEY_TEXT_)                       \
			".long __SCK__" #name " - .\n"                                                                 \
			".long 8\n"                                                                                    \
			".popsection\n"                                                                                \
			:                                                                                              \
			: [key] JUMPLABEL_KEY_CONSTRAINT_(func));                                                      \
	}                                                                                                              \
	JUMPLABEL_EXTERN_C_ struct static_call_key STATIC_CALL_KEY(name)

#define DEFINE_STATIC_CALL(name, func) JUMPLABEL_STATIC_CALL_(name, func)

#define static_call(name) STATIC_CALL_TRAMP(name)

#define static_call_update(name, target)                                                                               \
	__extension__({                                                                                                \
		__typeof__(&STATIC_CALL_TRAMP(name)) jumplabel_target_ = (target);                                     \
		jumplabel_static_call_update(&STATIC_CALL_KEY(name),                                                   \
					     JUMPLABEL_CAST_(void (*)(void), jumplabel_target_));                      \
	})

#endif
