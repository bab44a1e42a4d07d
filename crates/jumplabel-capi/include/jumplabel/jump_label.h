/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Static keys: switches whose check costs one instruction. Flipping a key rewrites the code of all its checks, while threads run. The names, types
 * and results are those of Linux; docs/linux-api.md lists them one by one.
 *
 *     static DEFINE_STATIC_KEY_FALSE(trace);
 *
 *     if (static_branch_unlikely(&trace))       one nop, until
 *             print_it();
 *     static_branch_enable(&trace);             makes it a jump, for every thread
 *
 * Costs: a check is one instruction (6 bytes on x86 and s390x, 4 elsewhere) and 16 bytes of read-only table, without a relocation. A flip is a few
 * system calls. The type of the key says whether it starts on. This determines the first instruction of a check: a jump if `starts on != likely`.
 *
 *                    falls through     jumps                        starts off    starts on
 *     likely         true              false                        jump          nop
 *     unlikely       false             true                         nop           jump
 *
 * If the system does not let a program change its code (MDWE, seccomp), flips fail, and keys stay as they are. Keys defined by
 * DEFINE_STATIC_KEY_TRUE_OR_LOAD() and the like work there, too, because their checks load the key until they are patched.
 *
 * If Linux would WARN, or if the system refuses to let a program write code (which cannot happen in a kernel), these functions call the hook of
 * jumplabel_set_warn(), and return what Linux returns. <jumplabel.h> has functions that return errors instead.
 *
 * JUMPLABEL_FALLBACK           checks load, test and jump, for comparison. On targets and with compilers that have no sites, this is the default,
 *                              with a warning unless you define it
 * JUMPLABEL_LOCAL_KEYS         in code for a shared library: all keys that this file checks are in the same library
 * JUMPLABEL_FOREIGN_KEYS       in code for a program: keys that this file checks may be in a shared library
 * JUMPLABEL_PRECISE_TABLE      lets linkers (lld; GNU ld with -z start-stop-gc) drop unused functions with sites one by one, not only all of a file;
 *                              object files get larger
 * JUMPLABEL_NO_SITE_PREFIX     x86: no prefix byte before a site; probes and breakpoints use that byte: docs/safety.md
 * JUMPLABEL_KERNEL_NAMES       also defines CONFIG_JUMP_LABEL, HZ, arch_static_branch() and arch_static_branch_jump()
 * JUMPLABEL_ALLOW_DEPRECATED   no warning for struct static_key's initialisers, static_key_true() and static_key_false()
 *
 * Internal names of these headers begin with `jumplabel` or `JUMPLABEL`. Names of parameters, locals and members begin with an underscore, because a
 * program may have a macro with any other name (C11, 7.1.3).
 */
#ifndef JUMPLABEL_JUMP_LABEL_H
#define JUMPLABEL_JUMP_LABEL_H

#if defined(__cplusplus) && __cplusplus < 201703L
#error "jumplabel needs C++17 or later (-std=c++17)"
#elif !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "jumplabel needs C11 or later (-std=c11)"
#elif !defined(__GNUC__)
#error "jumplabel needs a compiler that understands GNU C: gcc or clang"
#elif !defined(JUMPLABEL_FALLBACK)
#include "arch.h"
#if defined(__MINGW32__)
/* PE files need an assembler that can switch to another section and back. */
#if !defined(JUMP_LABEL_NOP_SIZE) || !defined(__x86_64__)
#pragma GCC warning "jumplabel has no sites for this target: checks load, test and jump. Define JUMPLABEL_FALLBACK to silence this"
#define JUMPLABEL_FALLBACK
#elif !defined(__clang__) || __clang_major__ < 19
#pragma GCC warning "jumplabel has sites in PE files with clang 19 and later (gcc's assembler has no .pushsection there): checks load, test and jump. Define JUMPLABEL_FALLBACK to silence this"
#define JUMPLABEL_FALLBACK
#endif
#elif !defined(__ELF__) || (!defined(__linux__) && __STDC_HOSTED__)
#pragma GCC warning "jumplabel has sites on Linux, on Windows (MinGW), and in kernels (-ffreestanding): checks load, test and jump. Define JUMPLABEL_FALLBACK to silence this"
#define JUMPLABEL_FALLBACK
#elif !defined(JUMP_LABEL_NOP_SIZE)
#pragma GCC warning "jumplabel has no sites for this target: checks load, test and jump. Define JUMPLABEL_FALLBACK to silence this"
#define JUMPLABEL_FALLBACK
#elif (defined(__s390x__) || defined(__arm__)) && defined(__PIC__) && !defined(__clang__)
/* For these targets, gcc does not accept an address as a constant in position-independent code. */
#pragma GCC warning "jumplabel has sites here with -fno-pie or clang: checks load, test and jump. Define JUMPLABEL_FALLBACK to silence this"
#define JUMPLABEL_FALLBACK
#elif defined(__clang__) && __clang_major__ < 14
#pragma GCC warning "jumplabel has sites with clang 14 and later: checks load, test and jump. Define JUMPLABEL_FALLBACK to silence this"
#define JUMPLABEL_FALLBACK
#elif !defined(__clang__) && __GNUC__ < 9
#pragma GCC warning "jumplabel has sites with gcc 9 and later: checks load, test and jump. Define JUMPLABEL_FALLBACK to silence this"
#define JUMPLABEL_FALLBACK
#endif
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "range.h"

#ifdef __cplusplus
#define JUMPLABEL_ASSERT_(condition, message) static_assert(condition, message)
#define JUMPLABEL_CAST_(type, x) (reinterpret_cast<type>(x))
#define JUMPLABEL_STATIC_CAST_(type, x) (static_cast<type>(x))
#define JUMPLABEL_NULL_ nullptr
/* In a module, clang takes `struct name` for a declaration of another structure. */
#define JUMPLABEL_STRUCT_
#define JUMPLABEL_BEGIN_LINKAGE_ extern "C" {
#define JUMPLABEL_END_LINKAGE_ }
#else
#define JUMPLABEL_ASSERT_(condition, message) _Static_assert(condition, message)
#define JUMPLABEL_CAST_(type, x) ((type)(x))
#define JUMPLABEL_STATIC_CAST_(type, x) ((type)(x))
#define JUMPLABEL_NULL_ NULL
#define JUMPLABEL_STRUCT_ struct
#define JUMPLABEL_BEGIN_LINKAGE_
#define JUMPLABEL_END_LINKAGE_
#endif

/* The visibility of a symbol for other objects. Windows has none: there, clang ignores the attribute, and gcc warns of it. */
#if defined(_WIN32) && !defined(__clang__)
#define JUMPLABEL_VISIBLE_(how)
#else
#define JUMPLABEL_VISIBLE_(how) __attribute__((__visibility__(how)))
#endif

/* Encloses declarations of the library: C functions that are visible to other objects, whatever `#pragma GCC visibility` the including file has. */
#define JUMPLABEL_C_BEGIN_ _Pragma("GCC visibility push(default)") JUMPLABEL_BEGIN_LINKAGE_
#define JUMPLABEL_C_END_ JUMPLABEL_END_LINKAGE_ _Pragma("GCC visibility pop")

JUMPLABEL_C_BEGIN_

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

#define JUMP_TYPE_FALSE 0U
#define JUMP_TYPE_TRUE 1U

/* A key without a type. `_enabled` is 0 if it is off, and n > 0 if it is on with n users. Other values are the library's. */
struct static_key {
	int _enabled;
	unsigned int _type;
} __attribute__((__aligned__(8)));

#define JUMPLABEL_KEY_INIT_TRUE_ { 1, JUMP_TYPE_TRUE }
#define JUMPLABEL_KEY_INIT_FALSE_ { 0, JUMP_TYPE_FALSE }

/* Deprecated, as in Linux: the type of the key does not say how it starts. */
#ifdef JUMPLABEL_ALLOW_DEPRECATED
#define STATIC_KEY_INIT_TRUE JUMPLABEL_KEY_INIT_TRUE_
#define STATIC_KEY_INIT_FALSE JUMPLABEL_KEY_INIT_FALSE_
#else
enum {
	jumplabel_one_ __attribute__((__deprecated__("define the key by DEFINE_STATIC_KEY_TRUE()"))) = 1,
	jumplabel_zero_ __attribute__((__deprecated__("define the key by DEFINE_STATIC_KEY_FALSE()"))) = 0
};
#define STATIC_KEY_INIT_TRUE { jumplabel_one_, JUMP_TYPE_TRUE }
#define STATIC_KEY_INIT_FALSE { jumplabel_zero_, JUMP_TYPE_FALSE }
#endif
#define STATIC_KEY_INIT STATIC_KEY_INIT_FALSE

/* Keys whose type says whether they start on. In C++, members of these types need no initialiser. */
#ifdef __cplusplus
struct static_key_true {
	struct static_key key = JUMPLABEL_KEY_INIT_TRUE_;
};
struct static_key_false {
	struct static_key key = JUMPLABEL_KEY_INIT_FALSE_;
};
#else
struct static_key_true {
	struct static_key key;
};
struct static_key_false {
	struct static_key key;
};
#endif

/* Keys that also work where the system lets nobody change code. There, and until a check is patched, it jumps to a stub that loads the key. The first
   flip of the key patches its checks; jumplabel_prepare() and jumplabel_restore_pristine() patch those that fall through. A flip is refused only if a
   check was patched before; then nothing changes, as with other keys. Costs some 25 bytes of code per check. Such a key must not be a weak symbol
   that may be undefined. */
#ifdef __cplusplus
struct static_key_true_or_load {
	struct static_key key = JUMPLABEL_KEY_INIT_TRUE_;
};
struct static_key_false_or_load {
	struct static_key key = JUMPLABEL_KEY_INIT_FALSE_;
};
#else
struct static_key_true_or_load {
	struct static_key key;
};
struct static_key_false_or_load {
	struct static_key key;
};
#endif

/* A DLL's key, as other modules see it: the word at __imp_<name> (dllimport), which holds the key's address. Only for PE files with sites; elsewhere
   such a key is one like any other. */
#if defined(__MINGW32__) && !defined(JUMPLABEL_FALLBACK)
#define JUMPLABEL_HAS_IMPORTED_ 1
struct jumplabel_imported_true_ {
	struct static_key_true *_key;
};
struct jumplabel_imported_false_ {
	struct static_key_false *_key;
};
#define JUMPLABEL_IMPORTED_(type, name) extern JUMPLABEL_STRUCT_ jumplabel_imported_##type##_ name __asm__("__imp_" #name)
#elif defined(_WIN32)
#define JUMPLABEL_IMPORTED_(type, name) extern __attribute__((__dllimport__)) JUMPLABEL_STRUCT_ static_key_##type name
#else
#define JUMPLABEL_IMPORTED_(type, name) extern JUMPLABEL_STRUCT_ static_key_##type name
#endif

#define JUMPLABEL_TRUE_INIT_ { JUMPLABEL_KEY_INIT_TRUE_ }
#define JUMPLABEL_FALSE_INIT_ { JUMPLABEL_KEY_INIT_FALSE_ }

/* Initialisers of keys. They are expressions, as in Linux, so that they may be in parentheses. ISO C (-std=c11) takes no such expression for a
   constant, so there they are lists in braces. */
#ifdef __cplusplus
#define STATIC_KEY_TRUE_INIT static_key_true JUMPLABEL_TRUE_INIT_
#define STATIC_KEY_FALSE_INIT static_key_false JUMPLABEL_FALSE_INIT_
#define STATIC_KEY_TRUE_OR_LOAD_INIT static_key_true_or_load JUMPLABEL_TRUE_INIT_
#define STATIC_KEY_FALSE_OR_LOAD_INIT static_key_false_or_load JUMPLABEL_FALSE_INIT_
#elif defined(__STRICT_ANSI__) && !defined(JUMPLABEL_KERNEL_NAMES)
#define STATIC_KEY_TRUE_INIT JUMPLABEL_TRUE_INIT_
#define STATIC_KEY_FALSE_INIT JUMPLABEL_FALSE_INIT_
#define STATIC_KEY_TRUE_OR_LOAD_INIT JUMPLABEL_TRUE_INIT_
#define STATIC_KEY_FALSE_OR_LOAD_INIT JUMPLABEL_FALSE_INIT_
#else
#define STATIC_KEY_TRUE_INIT (struct static_key_true)JUMPLABEL_TRUE_INIT_
#define STATIC_KEY_FALSE_INIT (struct static_key_false)JUMPLABEL_FALSE_INIT_
#define STATIC_KEY_TRUE_OR_LOAD_INIT (struct static_key_true_or_load)JUMPLABEL_TRUE_INIT_
#define STATIC_KEY_FALSE_OR_LOAD_INIT (struct static_key_false_or_load)JUMPLABEL_FALSE_INIT_
#endif

#define DEFINE_STATIC_KEY_TRUE(name) JUMPLABEL_STRUCT_ static_key_true name = JUMPLABEL_TRUE_INIT_
#define DEFINE_STATIC_KEY_FALSE(name) JUMPLABEL_STRUCT_ static_key_false name = JUMPLABEL_FALSE_INIT_
#define DECLARE_STATIC_KEY_TRUE(name) extern JUMPLABEL_STRUCT_ static_key_true name
#define DECLARE_STATIC_KEY_FALSE(name) extern JUMPLABEL_STRUCT_ static_key_false name
/* Declares a key that a DLL exports (__declspec(dllexport) DEFINE_STATIC_KEY_FALSE(name)), in other modules. Use it instead of __declspec(dllimport),
   whose symbol the text of a site cannot name. The functions and macros for keys take it as any other key. */
#define DECLARE_STATIC_KEY_TRUE_IMPORTED(name) JUMPLABEL_IMPORTED_(true, name)
#define DECLARE_STATIC_KEY_FALSE_IMPORTED(name) JUMPLABEL_IMPORTED_(false, name)

#define DEFINE_STATIC_KEY_TRUE_OR_LOAD(name) JUMPLABEL_STRUCT_ static_key_true_or_load name = JUMPLABEL_TRUE_INIT_
#define DEFINE_STATIC_KEY_FALSE_OR_LOAD(name) JUMPLABEL_STRUCT_ static_key_false_or_load name = JUMPLABEL_FALSE_INIT_
#define DECLARE_STATIC_KEY_TRUE_OR_LOAD(name) extern JUMPLABEL_STRUCT_ static_key_true_or_load name
#define DECLARE_STATIC_KEY_FALSE_OR_LOAD(name) extern JUMPLABEL_STRUCT_ static_key_false_or_load name

/* Keys that jump_label_init_ro() seals. */
#define DEFINE_STATIC_KEY_TRUE_RO(name) JUMPLABEL_STRUCT_ static_key_true name JUMPLABEL_RO_ = JUMPLABEL_TRUE_INIT_
#define DEFINE_STATIC_KEY_FALSE_RO(name) JUMPLABEL_STRUCT_ static_key_false name JUMPLABEL_RO_ = JUMPLABEL_FALSE_INIT_
#ifdef __MINGW32__
#define JUMPLABEL_RO_ __attribute__((__section__(".jumpro$m")))
#elif defined(__APPLE__)
#define JUMPLABEL_RO_ __attribute__((__section__("__DATA,__jump_ro_keys")))
#else
#define JUMPLABEL_RO_ __attribute__((__section__("__jump_ro_keys")))
#endif

#ifdef __cplusplus
#define DEFINE_STATIC_KEY_ARRAY_TRUE(name, count) JUMPLABEL_STRUCT_ static_key_true name[count] = {}
#define DEFINE_STATIC_KEY_ARRAY_FALSE(name, count) JUMPLABEL_STRUCT_ static_key_false name[count] = {}
#define DEFINE_STATIC_KEY_ARRAY_TRUE_OR_LOAD(name, count) JUMPLABEL_STRUCT_ static_key_true_or_load name[count] = {}
#define DEFINE_STATIC_KEY_ARRAY_FALSE_OR_LOAD(name, count) JUMPLABEL_STRUCT_ static_key_false_or_load name[count] = {}
#else
#define DEFINE_STATIC_KEY_ARRAY_TRUE(name, count)                                                                      \
	JUMPLABEL_STRUCT_ static_key_true name[count] = { JUMPLABEL_FILL_(count, JUMPLABEL_TRUE_INIT_) }
#define DEFINE_STATIC_KEY_ARRAY_FALSE(name, count)                                                                     \
	JUMPLABEL_STRUCT_ static_key_false name[count] = { JUMPLABEL_FILL_(count, JUMPLABEL_FALSE_INIT_) }
#define DEFINE_STATIC_KEY_ARRAY_TRUE_OR_LOAD(name, count)                                                              \
	JUMPLABEL_STRUCT_ static_key_true_or_load name[count] = { JUMPLABEL_FILL_(count, JUMPLABEL_TRUE_INIT_) }
#define DEFINE_STATIC_KEY_ARRAY_FALSE_OR_LOAD(name, count)                                                             \
	JUMPLABEL_STRUCT_ static_key_false_or_load name[count] = { JUMPLABEL_FILL_(count, JUMPLABEL_FALSE_INIT_) }
#endif

/* Keys that start on if the macro `config` is defined as 1, and off if it is 0 or undefined. */
#define DEFINE_STATIC_KEY_MAYBE(config, name) JUMPLABEL_CHOOSE_(config, DEFINE_STATIC_KEY_TRUE, DEFINE_STATIC_KEY_FALSE)(name)
#define DEFINE_STATIC_KEY_MAYBE_RO(config, name)                                                                       \
	JUMPLABEL_CHOOSE_(config, DEFINE_STATIC_KEY_TRUE_RO, DEFINE_STATIC_KEY_FALSE_RO)(name)
#define DECLARE_STATIC_KEY_MAYBE(config, name)                                                                         \
	JUMPLABEL_CHOOSE_(config, DECLARE_STATIC_KEY_TRUE, DECLARE_STATIC_KEY_FALSE)(name)

/* Expands to the second argument if `config` expands to 1, and to the third otherwise: only for 1, the probe adds a comma, which shifts the
   arguments. */
#define JUMPLABEL_CHOOSE_(config, yes, no) JUMPLABEL_CHOOSE_PROBE_(config, yes, no)
#define JUMPLABEL_CHOOSE_PROBE_(value, yes, no) JUMPLABEL_SECOND_OF_(JUMPLABEL_PROBE_##value yes, no, )
#define JUMPLABEL_PROBE_1 ,
#define JUMPLABEL_SECOND_OF_(...) JUMPLABEL_SECOND_(__VA_ARGS__)
#define JUMPLABEL_SECOND_(first, second, ...) second

/* ---- Types of arguments ----------------------------------------------------------------------------------------- */

/* The type that `x` points to: 1 static_key_true, 0 static_key_false, 2 static_key, 5 and 4 the first two with _or_load, 9 and 8 the first two of
   another module, -1 any other. */
#ifdef __cplusplus
extern "C++" { /* Needed if the header is included inside of extern "C". */
template <class _pointer> struct jumplabel_type_ {
	static constexpr int _value = -1;
};
template <> struct jumplabel_type_<static_key_true *> {
	static constexpr int _value = 1;
};
template <> struct jumplabel_type_<static_key_false *> {
	static constexpr int _value = 0;
};
template <> struct jumplabel_type_<static_key *> {
	static constexpr int _value = 2;
};
template <> struct jumplabel_type_<static_key_true_or_load *> {
	static constexpr int _value = 5;
};
template <> struct jumplabel_type_<static_key_false_or_load *> {
	static constexpr int _value = 4;
};
#ifdef JUMPLABEL_HAS_IMPORTED_
template <> struct jumplabel_type_<jumplabel_imported_true_ *> {
	static constexpr int _value = 9;
};
template <> struct jumplabel_type_<jumplabel_imported_false_ *> {
	static constexpr int _value = 8;
};
#endif
template <class _key> struct jumplabel_type_<const _key *> : jumplabel_type_<_key *> {};
template <class _value> _value jumplabel_value_(_value);
} /* extern "C++" */
#define JUMPLABEL_TYPE_(x) (jumplabel_type_<decltype(jumplabel_value_(x))>::_value)
#define JUMPLABEL_FIRST_(x, arm)                                                                                       \
	((JUMPLABEL_TYPE_(x) & 4) != 0 ? 40 : (JUMPLABEL_TYPE_(x) & ~8) != (arm) ? 8 + JUMPLABEL_SLOT_IF_(x) : JUMPLABEL_SLOT_IF_(x))
#define JUMPLABEL_SLOT_IF_(x) ((JUMPLABEL_TYPE_(x) & 8) / 4)
#else
/* The types have names, because the compiler reads this list again for each check. */
typedef struct static_key *jumplabel_raw_;
typedef struct static_key_true *jumplabel_true_;
typedef struct static_key_false *jumplabel_false_;
typedef struct static_key_true_or_load *jumplabel_true_or_load_;
typedef struct static_key_false_or_load *jumplabel_false_or_load_;
typedef const struct static_key *jumplabel_const_raw_;
typedef const struct static_key_true *jumplabel_const_true_;
typedef const struct static_key_false *jumplabel_const_false_;
typedef const struct static_key_true_or_load *jumplabel_const_true_or_load_;
typedef const struct static_key_false_or_load *jumplabel_const_false_or_load_;
#ifdef JUMPLABEL_HAS_IMPORTED_
typedef struct jumplabel_imported_true_ *jumplabel_import_true_;
typedef struct jumplabel_imported_false_ *jumplabel_import_false_;
#define JUMPLABEL_TYPES_IMPORTED_ jumplabel_import_true_: 9, jumplabel_import_false_: 8,
#define JUMPLABEL_FIRSTS_IMPORTED_(arm) jumplabel_import_false_: 8 * (arm) + 2, jumplabel_import_true_: 10 - 8 * (arm),
#else
#define JUMPLABEL_TYPES_IMPORTED_
#define JUMPLABEL_FIRSTS_IMPORTED_(arm)
#endif
#define JUMPLABEL_TYPE_(x)                                                                                             \
	_Generic((x), JUMPLABEL_TYPES_IMPORTED_ jumplabel_true_: 1, jumplabel_const_true_: 1, jumplabel_false_: 0, jumplabel_const_false_: 0,    \
		 jumplabel_raw_: 2, jumplabel_const_raw_: 2, jumplabel_true_or_load_: 5,                               \
		 jumplabel_const_true_or_load_: 5, jumplabel_false_or_load_: 4, jumplabel_const_false_or_load_: 4,     \
		 default: -1)
/* The first instruction of a site: 0 a nop, 8 a jump, 40 a jump to a stub that loads; -1 if `x` does not point to a key with a type. */
#define JUMPLABEL_FIRST_(x, arm)                                                                                       \
	_Generic((x), JUMPLABEL_FIRSTS_IMPORTED_(arm) jumplabel_false_: 8 * (arm), jumplabel_true_: 8 - 8 * (arm), jumplabel_const_false_: 8 * (arm),  \
		 jumplabel_const_true_: 8 - 8 * (arm), jumplabel_false_or_load_: 40, jumplabel_true_or_load_: 40,      \
		 jumplabel_const_false_or_load_: 40, jumplabel_const_true_or_load_: 40, default: -1)
#endif

#define JUMPLABEL_TYPED_MESSAGE_                                                                                       \
	"static_branch_*() takes the address of a struct static_key_true or a struct static_key_false: &key, not key"
#define JUMPLABEL_ASSERT_TYPED_(x) JUMPLABEL_ASSERT_((JUMPLABEL_TYPE_(x) & ~13) == 0, JUMPLABEL_TYPED_MESSAGE_)
#define JUMPLABEL_ASSERT_UNTYPED_(x)                                                                                   \
	JUMPLABEL_ASSERT_(JUMPLABEL_TYPE_(x) == 2,                                                                     \
			  "static_key_*() takes the address of a struct static_key here: &key, not key")
#define JUMPLABEL_ASSERT_ANY_(x)                                                                                       \
	JUMPLABEL_ASSERT_(JUMPLABEL_TYPE_(x) >= 0,                                                                     \
			  "this takes the address of a struct static_key, static_key_true or static_key_false: "       \
			  "&key, not key")

/* The check's address must be known to the linker, so that the text of a site can name it. */
#define JUMPLABEL_STATIC_MESSAGE_ "static_branch_*() takes the address of a static object (not thread-local): no variable, no NULL"
#ifdef __cplusplus
extern "C++" {
template <bool _is> struct jumplabel_static_ {
	static_assert(_is, JUMPLABEL_STATIC_MESSAGE_);
};
constexpr int jumplabel_probe_(const void *)
{
	return 0;
}
} /* extern "C++" */
/* True if the compiler can compute with the address, but does not know its number. The address of a thread-local object fails, too: it is no
   constant. */
#define JUMPLABEL_STATIC_(x)                                                                                           \
	jumplabel_static_<__builtin_constant_p(jumplabel_probe_(x)) &&                                                 \
			  !__builtin_constant_p(reinterpret_cast<uintptr_t>(x))>
#define JUMPLABEL_ASSERT_STATIC_(x)                                                                                    \
	__attribute__((__unused__)) constexpr const void *                                                             \
	jumplabel_the_key_must_be_a_static_object = /* static_branch_*() takes the address of a static object (not thread-local): no variable, no NULL; of a DLL: DECLARE_STATIC_KEY_..._IMPORTED() */ (x)
#else
/* In C, an initialiser must be constant. The compiler's own error message shows this line, which therefore contains our text. Inside sizeof, the
   variable takes no memory. */
#define JUMPLABEL_ASSERT_STATIC_(x)                                                                                    \
	JUMPLABEL_ASSERT_(!__builtin_constant_p((uintptr_t)(x)), JUMPLABEL_STATIC_MESSAGE_);                           \
	(void)sizeof(({                                                                                                \
		static const void *const jumplabel_the_key_must_be_a_static_object[1] = {                              \
			(x) /* static_branch_*() takes the address of a static object (not thread-local): no variable, no NULL; of a DLL: DECLARE_STATIC_KEY_..._IMPORTED() */ \
		};                                                                                                     \
		*jumplabel_the_key_must_be_a_static_object;                                                            \
	}))
#endif

/* The struct static_key to which a pointer to a key of any type leads. A constant key can be read; the compiler rejects changes of it. */
#ifdef JUMPLABEL_HAS_IMPORTED_
/* The address of a key of another module. */
#define JUMPLABEL_IN_MODULE_(x)                                                                                        \
	(JUMPLABEL_TYPE_(x) >= 8 ? *JUMPLABEL_STATIC_CAST_(void *const *, JUMPLABEL_STATIC_CAST_(const void *, x)) : (x))
#else
#define JUMPLABEL_IN_MODULE_(x) x
#endif
#define JUMPLABEL_ANY_KEY_(x)                                                                                          \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_ANY_(x);                                                                              \
		jumplabel_constant_(JUMPLABEL_IN_MODULE_(x));                                                          \
	})
#define JUMPLABEL_TYPED_KEY_(x)                                                                                        \
	__extension__({                                                                                                \
		JUMPLABEL_ASSERT_TYPED_(x);                                                                            \
		jumplabel_variable_(JUMPLABEL_IN_MODULE_(x));                                                          \
	})
static __inline__ struct static_key *jumplabel_variable_(void *_key)
{
	return JUMPLABEL_STATIC_CAST_(struct static_key *, _key);
}
static __inline__ const struct static_key *jumplabel_constant_(const void *_key)
{
	return JUMPLABEL_STATIC_CAST_(const struct static_key *, _key);
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

/* The number of users. Costs one load; can be called anywhere. */
static __inline__ int jumplabel_count_(const struct static_key *_key)
{
	int _word = __atomic_load_n(&_key->_enabled, __ATOMIC_RELAXED);

	return _word == -1 ? 1 : _word & 0x7fffffff; /* -1: the last user is leaving. Other negative words: sealed. */
}

#define static_key_count(x) jumplabel_count_(JUMPLABEL_ANY_KEY_(x))
/* True if the key is on: it becomes true after all its sites are on, and false after all are off. As in Linux, this and the count may be out of date
   at once, unless the caller keeps others from flipping the key. */
#define static_key_enabled(x) (static_key_count(x) > 0)
#define jump_label_enabled(x) static_key_enabled(x)

/* A check: true if the key is on. The compiler lays out in line the code for "on" (likely) or for "off" (unlikely). `x` must be the address of a
   static object, element or member. Can be used anywhere, signal handlers included.

   static_key_true and static_key_false are deprecated, because the key's type does not say how it starts. If the name is wrong about it, the site is
   corrected when its object is loaded. (In Linux, it stays wrong.) */
#if defined(__OPTIMIZE__) && (defined(JUMPLABEL_FALLBACK) || defined(__clang__))
#define static_branch_likely(x) (__builtin_expect(JUMPLABEL_CHECK_(x, 1), 1) != 0)
#define static_branch_unlikely(x) (__builtin_expect(JUMPLABEL_CHECK_(x, 0), 0) != 0)
#define static_key_true(x) (__builtin_expect(JUMPLABEL_CHECK_UNTYPED_(x, 1), 1) != 0)
#define static_key_false(x) (__builtin_expect(JUMPLABEL_CHECK_UNTYPED_(x, 0), 0) != 0)
#else
/* gcc learns the likely arm from the labels (JUMPLABEL_AT_JUMPED_). With __builtin_expect as well, it would keep a test of the result for a while,
   take the function for larger than it is, and inline it less. Without optimisation, no compiler uses the hint, and clang takes long to read it. (No
   macro may enclose the check: in errors, g++ would show that macro's line, not the one that says what a key must be.) */
#define static_branch_likely(x) (JUMPLABEL_CHECK_(x, 1) != 0)
#define static_branch_unlikely(x) (JUMPLABEL_CHECK_(x, 0) != 0)
#define static_key_true(x) (JUMPLABEL_CHECK_UNTYPED_(x, 1) != 0)
#define static_key_false(x) (JUMPLABEL_CHECK_UNTYPED_(x, 0) != 0)
#endif
#define static_branch_maybe(config, x) JUMPLABEL_CHOOSE_(config, static_branch_likely, static_branch_unlikely)(x)

static __inline__ int jumplabel_direct_use_(void)
#ifndef JUMPLABEL_ALLOW_DEPRECATED
	__attribute__((__deprecated__("use static_branch_likely() or static_branch_unlikely() with a DEFINE_STATIC_KEY_*() key")))
#endif
	;
static __inline__ int jumplabel_direct_use_(void)
{
	return 0;
}

#ifdef JUMPLABEL_FALLBACK
#ifdef __cplusplus
/* A lambda, so that this check may be wherever a check with a site may be. */
#define JUMPLABEL_LOAD_(x, assertion)                                                                                  \
	([](const void *jumplabel_key) -> bool {                                                                       \
		assertion;                                                                                             \
		return jumplabel_count_(jumplabel_constant_(jumplabel_key)) != 0;                                      \
	}(x))
#else
#define JUMPLABEL_LOAD_(x, assertion)                                                                                  \
	__extension__({                                                                                                \
		assertion;                                                                                             \
		jumplabel_count_(jumplabel_constant_(x)) != 0;                                                         \
	})
#endif
#define JUMPLABEL_CHECK_(x, arm) JUMPLABEL_LOAD_(x, JUMPLABEL_ASSERT_TYPED_(x))
#define JUMPLABEL_CHECK_UNTYPED_(x, arm)                                                                               \
	JUMPLABEL_LOAD_(x, JUMPLABEL_ASSERT_UNTYPED_(x); (void)sizeof(jumplabel_direct_use_()))
#define JUMPLABEL_ARCH_CHECK_(x, branch, first) (JUMPLABEL_LOAD_(x, JUMPLABEL_ASSERT_UNTYPED_(x)) != ((branch) ? 1 : 0))
#else
#include "site.h"
/* Asserts the argument's type, and defines the first instruction. In C, both come from one question about the type, with as few macro arguments as
   possible, because these determine the compiler's work for a check. */
#ifdef __cplusplus
/* Not an enum: gcc 11 and 12 cannot import a function with an enum from a module ("Bad file data"). */
#define JUMPLABEL_FIRST_IS_(number) constexpr int jumplabel_first = number
#define JUMPLABEL_TYPED_(x, arm)                                                                                       \
	JUMPLABEL_ASSERT_TYPED_(x);                                                                                    \
	JUMPLABEL_FIRST_IS_(JUMPLABEL_FIRST_(x, arm))
#else
#define JUMPLABEL_FIRST_IS_(number) enum { jumplabel_first = number }
#define JUMPLABEL_TYPED_(x, arm)                                                                                       \
	JUMPLABEL_FIRST_IS_(JUMPLABEL_FIRST_(x, arm));                                                                 \
	JUMPLABEL_ASSERT_(jumplabel_first >= 0, JUMPLABEL_TYPED_MESSAGE_)
#endif
#define JUMPLABEL_UNTYPED_(x, arm)                                                                                     \
	JUMPLABEL_ASSERT_UNTYPED_(x);                                                                                  \
	JUMPLABEL_FIRST_IS_(16 + 0 * sizeof(jumplabel_direct_use_()))
#define JUMPLABEL_CHECK_(x, arm) JUMPLABEL_SITE_(x, JUMPLABEL_TYPED_, arm, JUMPLABEL_OBJECT_OF_TYPED_)
#define JUMPLABEL_CHECK_UNTYPED_(x, arm) JUMPLABEL_SITE_(x, JUMPLABEL_UNTYPED_, arm, jumplabel_marked_object_)
/* `branch` is a constant in C, and so must become a part of the assembler's constant. */
#define JUMPLABEL_ARCH_NOP_(x, arm)                                                                                    \
	JUMPLABEL_ASSERT_UNTYPED_(x);                                                                                  \
	JUMPLABEL_FIRST_IS_(16)
#define JUMPLABEL_ARCH_JUMP_(x, arm)                                                                                   \
	JUMPLABEL_ASSERT_UNTYPED_(x);                                                                                  \
	JUMPLABEL_FIRST_IS_(24)
#define JUMPLABEL_ARCH_CHECK_(x, branch, first)                                                                        \
	(JUMPLABEL_SITE_(x, first, ((branch) ? 1 : 0), jumplabel_marked_object_) != ((branch) ? 1 : 0))
#endif

/* ---- Linux's names for ported code, on request ------------------------------------------------------------------ */

#ifdef JUMPLABEL_KERNEL_NAMES
#ifndef CONFIG_JUMP_LABEL
#define CONFIG_JUMP_LABEL 1
#endif
/* The unit of deferred keys' intervals is a millisecond. <sys/param.h> may define another HZ. */
#undef HZ
#define HZ 1000

/* True if the site jumps: if the key's state differs from `branch`, a constant. arch_static_branch() starts as a nop, and arch_static_branch_jump()
   as a jump; both follow the key once their object is loaded. */
#define arch_static_branch(key, branch) JUMPLABEL_ARCH_CHECK_(key, branch, JUMPLABEL_ARCH_NOP_)
#define arch_static_branch_jump(key, branch) JUMPLABEL_ARCH_CHECK_(key, branch, JUMPLABEL_ARCH_JUMP_)
#endif

/* ---- Changes ---------------------------------------------------------------------------------------------------- */

/*
 * When one of these returns, every check that starts later, on any thread, takes the new arm. (D21 in docs/linux-api.md: if membarrier is refused, a
 * thread takes it after it next enters the kernel.) enable and disable set the count to 1 and 0, and warn if it is above 1; inc and dec count users.
 * They block while another thread flips. They may be called in constructors, destructors and signal handlers. In the middle of a flip by the same
 * thread, they warn and do nothing.
 *
 * Callers of *_cpuslocked hold jump_label_lock(). The key must live until jump_label_unlock() has returned, which calls the functions of
 * jumplabel_on_change().
 */
void static_key_enable(struct static_key *_key);
void static_key_disable(struct static_key *_key);
void static_key_enable_cpuslocked(struct static_key *_key);
void static_key_disable_cpuslocked(struct static_key *_key);
/* Returns true if the count went up. Returns false, after a warning, if it is INT_MAX or code cannot be written. */
bool static_key_slow_inc(struct static_key *_key);
bool static_key_slow_inc_cpuslocked(struct static_key *_key);
void static_key_slow_dec(struct static_key *_key);
void static_key_slow_dec_cpuslocked(struct static_key *_key);
/* Adds a user to a key that is on. Returns false if the key is off or full. Never patches, never blocks. */
bool static_key_fast_inc_not_disabled(struct static_key *_key);

#define static_branch_enable(x) static_key_enable(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_disable(x) static_key_disable(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_enable_cpuslocked(x) static_key_enable_cpuslocked(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_disable_cpuslocked(x) static_key_disable_cpuslocked(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_inc(x) static_key_slow_inc(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_dec(x) static_key_slow_dec(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_inc_cpuslocked(x) static_key_slow_inc_cpuslocked(JUMPLABEL_TYPED_KEY_(x))
#define static_branch_dec_cpuslocked(x) static_key_slow_dec_cpuslocked(JUMPLABEL_TYPED_KEY_(x))

/* Holds the lock that flips take: nobody else flips, and no object with sites is loaded or unloaded. Meanwhile all signals of the thread but SIGSYS
   are blocked, and it cannot be cancelled. It must not call dlopen() or dlclose(). A child of fork() does not hold the lock. */
void jump_label_lock(void);
void jump_label_unlock(void);

/* Returns 1 if a site overlaps the bytes from `_from` to `_to`, both included; otherwise 0. Can be called with or without jump_label_lock(). */
int jump_label_text_reserved(const void *_from, const void *_to);

/* Nothing has to be initialised: keys may be flipped at any time, in constructors, too. */
#define static_key_initialized true
#define STATIC_KEY_CHECK_USE(key) ((void)(key))
static __inline__ void jump_label_init(void)
{
}

/* Seals the keys from `_from` to `_to`. */
void jumplabel_seal_keys_(struct static_key *_from, struct static_key *_to);

#ifdef __MINGW32__
/* The linker puts all keys between these two variables. */
static struct static_key __start___jump_ro_keys[0] __attribute__((__section__(".jumpro$a")));
static struct static_key __stop___jump_ro_keys[0] __attribute__((__section__(".jumpro$z")));
#elif defined(__APPLE__)
/* The linker defines symbols with these names. */
extern struct static_key __start___jump_ro_keys[] __asm__("section$start$__DATA$__jump_ro_keys");
extern struct static_key __stop___jump_ro_keys[] __asm__("section$end$__DATA$__jump_ro_keys");
#else
/* The linker defines these. They have no other name in C, because gcc forgets that a symbol with another name (__asm__) is hidden. */
extern struct static_key __start___jump_ro_keys[] __attribute__((__weak__, __visibility__("hidden")));
extern struct static_key __stop___jump_ro_keys[] __attribute__((__weak__, __visibility__("hidden")));
#endif

/* Seals the _RO keys of the program or library that calls it: they cannot be changed any more. */
static __inline__ void jump_label_init_ro(void)
{
	jumplabel_seal_keys_(__start___jump_ro_keys, __stop___jump_ro_keys);
}

JUMPLABEL_C_END_

#endif
