/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Naked keys. Each key has a small function that returns its state. A check calls this function, and a flip changes it.
 *
 *     DEFINE_STATIC_NAKED_KEY_FALSE(new_route);
 *
 *     if (static_naked_key(new_route))              calls `mov eax, 0; ret` (on x86)
 *             ...
 *     static_key_enable(&new_route.key);            the function is now `mov eax, 1; ret`: all checks change at one instant
 *
 * Use naked keys if all checks must change at the same instant; if a key has very many checks (a flip costs the same for one check and for 10,000);
 * or if 16 bytes of table per check are too much. A check is a call and a return, and so costs more than static_branch_unlikely(). It loads no data.
 * On x86-64 it writes only the result's register. (With gcc, two more instructions step over the red zone.) Elsewhere it is an ordinary call.
 *
 * A naked key is visible in one program or shared library; other files of it use DECLARE_STATIC_NAKED_KEY(). It is never `static`, so its name must
 * be unique there. All functions that take a struct static_key take its member `key`.
 */
#ifndef JUMPLABEL_STATIC_NAKED_KEY_H
#define JUMPLABEL_STATIC_NAKED_KEY_H

#include "jump_label.h"

struct static_naked_key {
	struct static_key key;
};

#ifdef JUMPLABEL_FALLBACK

#define DECLARE_STATIC_NAKED_KEY(name)                                                                                 \
	extern JUMPLABEL_STRUCT_ static_naked_key name JUMPLABEL_VISIBLE_("hidden");                                                  \
	bool name##_jumplabel_naked_(void) JUMPLABEL_VISIBLE_("hidden")
#define DEFINE_STATIC_NAKED_KEY_TRUE(name) JUMPLABEL_NAKED_KEY_(name, JUMPLABEL_KEY_INIT_TRUE_)
#define DEFINE_STATIC_NAKED_KEY_FALSE(name) JUMPLABEL_NAKED_KEY_(name, JUMPLABEL_KEY_INIT_FALSE_)
#define JUMPLABEL_NAKED_KEY_(name, ...)                                                                                \
	DECLARE_STATIC_NAKED_KEY(name);                                                                                \
	bool name##_jumplabel_naked_(void)                                                                             \
	{                                                                                                              \
		return static_key_enabled(&name.key);                                                                  \
	}                                                                                                              \
	JUMPLABEL_STRUCT_ static_naked_key name = { __VA_ARGS__ }
#define JUMPLABEL_NAKED_CHECK_(function) (function())

#else

#define DECLARE_STATIC_NAKED_KEY(name)                                                                                 \
	extern JUMPLABEL_STRUCT_ static_naked_key name __asm__("__jumplabel_naked_key_" #name)                                    \
		JUMPLABEL_VISIBLE_("hidden");                                                                              \
	bool name##_jumplabel_naked_(void) __asm__("__jumplabel_naked_" #name)                                       \
		JUMPLABEL_VISIBLE_("hidden") JUMPLABEL_SPARES_REGISTERS_

#define DEFINE_STATIC_NAKED_KEY_TRUE(name) JUMPLABEL_NAKED_KEY_(name, "__jumplabel_naked_" #name, 1)
#define DEFINE_STATIC_NAKED_KEY_FALSE(name) JUMPLABEL_NAKED_KEY_(name, "__jumplabel_naked_" #name, 0)

/* Defines the record, the key, the function, and its table entry (flag 4: naked). The last three are defined in assembler, so that the compiler can
   neither rename them nor move them to another file. */
#define JUMPLABEL_NAKED_KEY_(name, function, value)                                                                    \
	DECLARE_STATIC_NAKED_KEY(name);                                                                                \
	JUMPLABEL_DECLARATION_(jumplabel_declaration_of_##name##_, #name, (value) | JUMPLABEL_INDIRECT_)               \
	JUMPLABEL_RECORD_IN_(name, &name)                                                                              \
	__asm__(JUMPLABEL_OBJECT_                                                                                      \
		JUMPLABEL_BEGIN_DATA_("__jumplabel_naked_key_" #name)                                                  \
		"__jumplabel_naked_key_" #name ":\n"                                                                   \
		".long " #value ", " #value "\n"                                                                         \
		JUMPLABEL_END_OF_("__jumplabel_naked_key_" #name)                                                      \
		".popsection\n"                                                                                        \
		JUMPLABEL_BEGIN_CODE_(function, ".balign 8\n")                                                         \
		JUMPLABEL_HIDE_(function)                                                                              \
		function ":\n"                                                                                         \
		JUMPLABEL_NAKED_(".L" function "_site", ".L" function "_target", #value)                                \
		JUMPLABEL_END_OF_(function)                                                                            \
		".balign 8\n"                                                                                          \
		JUMPLABEL_TIE_(".L" function "_site", "__jumplabel_naked_key_" #name) "\n"                             \
		JUMPLABEL_TIE_(".L" function "_site", ".L" function "_entry") "\n"                                     \
		".popsection\n"                                                                                        \
		".pushsection " JUMPLABEL_NAKED_TABLE_(function) "\n"                                                    \
		".balign 4\n"                                                                                          \
		".L" function "_entry:\n"                                                                              \
		".long .L" function "_site - .\n"                                                                      \
		".long .L" function "_target - .\n"                                                                    \
		".long __jumplabel_naked_key_" #name " - .\n"                                                          \
		".long 4\n"                                                                                            \
		".popsection\n")

#define JUMPLABEL_NAKED_CHECK_(function) JUMPLABEL_NAKED_CALL_(function)

#endif

/* True if the key is on. static_naked_key(&new_route), the spelling of other checks, is also allowed: the suffix makes it the address of the
   function, which can be called like the function. The compiler does not merge checks, not even two in a row. Can be used anywhere, signal handlers
   included. */
#define static_naked_key(name) JUMPLABEL_NAKED_CHECK_((name##_jumplabel_naked_))

#endif
