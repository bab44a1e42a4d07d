/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Static keys for a project that must not depend on jumplabel: one header to copy. If the library's headers are found, this includes them, and checks
 * are instructions. Otherwise checks are relaxed loads, and this file itself provides the same declarations, names, list and start variable, in C99
 * or C++11, without any library.
 *
 *     #include "jumplabel-optional.h"
 *
 *     static DEFINE_STATIC_KEY_FALSE(trace);
 *     RECORD_STATIC_KEY(trace, "net.trace");          gives the key a name, for lists and for JUMPLABEL=
 *
 *     if (static_branch_unlikely(&trace))
 *             print_it();
 *     static_branch_enable(&trace);
 *
 * One file, in C or C++, of a program, and of each shared library with keys, has before the #include
 *
 *     #define JUMPLABEL_OPTIONAL_IMPLEMENTATION
 *
 * and may contain JUMPLABEL_STARTUP(). Then JUMPLABEL='net.*=on' sets keys before main, and JUMPLABEL=help lists them.
 *
 * JUMPLABEL_OPTIONAL_USE   1: use the library. 0: do not. Undefined: use it if the compiler finds <jumplabel/jump_label.h> (__has_include), and
 *                          supports GNU C of C11, or C++17. A build system should define it, because it must also link with the library:
 *                          -ljumplabel, or with JUMPLABEL_STARTUP() -ljumplabel-agent -ljumplabel.
 * JUMPLABEL_OPTIONAL_LIBRARY  is defined after the #include: 1 if the library is used, otherwise 0.
 *
 * All files of a program, or of a shared library, must make the same choice, with the same version of this file. Otherwise the linker says "undefined
 * reference to `JUMPLABEL_OPTIONAL_IMPLEMENTATION_is_missing_for_version_1_without_the_library'", or "..._with_the_library'".
 *
 * Without the library there are no deferred keys, static calls, switches, tracepoints, agent, or jump_label_lock(). The keys of a shared library are
 * listed and set in that library only. A check costs a load, a compare and a jump. Changes take no lock and never wait. Those that return an error
 * are safe in signal handlers; others print it. jumplabel_set_all() of more than 1,024 keys allocates.
 */
#ifndef JUMPLABEL_OPTIONAL_H
#define JUMPLABEL_OPTIONAL_H

#define JUMPLABEL_OPTIONAL_VERSION 1

/* ---- With the library or without -------------------------------------------------------------------------------- */

#if defined(JUMPLABEL_OPTIONAL_USE)
#if JUMPLABEL_OPTIONAL_USE
#define JUMPLABEL_OPTIONAL_LIBRARY 1
#endif
#elif defined(__has_include) && defined(__GNUC__)
#if (defined(__cplusplus) && __cplusplus >= 201703L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#if __has_include(<jumplabel/jump_label.h>)
#define JUMPLABEL_OPTIONAL_LIBRARY 1
#endif
#endif
#endif

#ifdef JUMPLABEL_OPTIONAL_LIBRARY

#include <jumplabel.h>
#include <jumplabel/agent.h>

#define JUMPLABEL_OPTIONAL_MODE_ JUMPLABEL_OPTIONAL_IMPLEMENTATION_is_missing_for_version_1_with_the_library
#define JUMPLABEL_OPTIONAL_API_ __attribute__((__visibility__("hidden")))
#define JUMPLABEL_OPTIONAL_BEGIN_ JUMPLABEL_BEGIN_LINKAGE_
#define JUMPLABEL_OPTIONAL_END_ JUMPLABEL_END_LINKAGE_

#else

#define JUMPLABEL_OPTIONAL_LIBRARY 0
#define JUMPLABEL_OPTIONAL_MODE_ JUMPLABEL_OPTIONAL_IMPLEMENTATION_is_missing_for_version_1_without_the_library

#if defined(__cplusplus) && __cplusplus < 201103L && !(defined(_MSC_VER) && _MSC_VER >= 1900)
#error "jumplabel-optional.h needs C++11 or later (-std=c++11)"
#elif !defined(__GNUC__) && !defined(_MSC_VER)
#error "jumplabel-optional.h needs a compiler that understands GNU C, or MSVC"
#endif

#ifdef __GNUC__
#pragma GCC system_header /* Because -pedantic complains of [0 ... n] = in an initialiser. */
#endif

#include <stdbool.h>
#include <stddef.h>
#ifdef _MSC_VER
#include <intrin.h>
#endif

#ifdef __cplusplus
#define JUMPLABEL_OPTIONAL_BEGIN_ extern "C" {
#define JUMPLABEL_OPTIONAL_END_ }
#else
#define JUMPLABEL_OPTIONAL_BEGIN_
#define JUMPLABEL_OPTIONAL_END_
#endif
#if defined(__GNUC__) && !defined(_WIN32)
#define JUMPLABEL_OPTIONAL_API_ __attribute__((__visibility__("hidden")))
#else
#define JUMPLABEL_OPTIONAL_API_
#endif

#ifdef __GNUC__
#define JUMPLABEL_INLINE_ static __inline__ __attribute__((__unused__))
#define JUMPLABEL_EXPECT_(condition, is) (__builtin_expect((condition), (is)) != 0)
#define JUMPLABEL_LOAD_WORD_(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#define JUMPLABEL_ALIGNED_ __attribute__((__aligned__(8)))
#else
#define JUMPLABEL_INLINE_ static __inline
#define JUMPLABEL_EXPECT_(condition, is) (condition)
#define JUMPLABEL_LOAD_WORD_(at) (*(const volatile int *)(at))
#define JUMPLABEL_ALIGNED_
#endif

JUMPLABEL_OPTIONAL_BEGIN_

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

/* `_enabled` is 0 if the key is off, and n > 0 if it is on with n users. The sign bit is set if it is sealed. The library does the same. */
struct static_key {
	int _enabled;
	unsigned int _type;
} JUMPLABEL_ALIGNED_;

#ifdef __cplusplus
/* The types have constructors, because C++11 does not allow braces for a structure whose members have initialisers. The compiler evaluates them. */
#define JUMPLABEL_KEY_TYPE_(type, value) struct type { struct static_key key; constexpr type() : key{ value, value } {} }
#define JUMPLABEL_INIT_(type, value) type()
#define JUMPLABEL_KEY_(type, name, place, value) struct type name place
#define JUMPLABEL_KEYS_(type, name, count, value) struct type name[count]
#else
#define JUMPLABEL_KEY_TYPE_(type, value) struct type { struct static_key key; }
#if defined(__STRICT_ANSI__) || !defined(__GNUC__)
#define JUMPLABEL_INIT_(type, value) { { value, value } }
#else
#define JUMPLABEL_INIT_(type, value) (struct type){ { value, value } }
#endif
#define JUMPLABEL_KEY_(type, name, place, value) struct type name place = { { value, value } }
#ifdef __clang__
#define JUMPLABEL_KEYS_(type, name, count, value)                                                                      \
	struct type name[count] = { _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgnu-designator\"") \
		[0 ... (count) - 1] = { { value, value } } _Pragma("clang diagnostic pop") }
#elif defined(__GNUC__)
#define JUMPLABEL_KEYS_(type, name, count, value) struct type name[count] = { [0 ... (count) - 1] = { { value, value } } }
#else
/* C by MSVC has no initialiser for a range, so there arrays of keys that start on exist only in C++. */
#define JUMPLABEL_KEYS_(type, name, count, value) struct type name[(value) == 0 ? (count) : -1] = { { { 0, 0 } } }
#endif
#endif

JUMPLABEL_KEY_TYPE_(static_key_true, 1);
JUMPLABEL_KEY_TYPE_(static_key_false, 0);
JUMPLABEL_KEY_TYPE_(static_key_true_or_load, 1);
JUMPLABEL_KEY_TYPE_(static_key_false_or_load, 0);

#define STATIC_KEY_TRUE_INIT JUMPLABEL_INIT_(static_key_true, 1)
#define STATIC_KEY_FALSE_INIT JUMPLABEL_INIT_(static_key_false, 0)
#define STATIC_KEY_TRUE_OR_LOAD_INIT JUMPLABEL_INIT_(static_key_true_or_load, 1)
#define STATIC_KEY_FALSE_OR_LOAD_INIT JUMPLABEL_INIT_(static_key_false_or_load, 0)

/* Keys that jump_label_init_ro() seals, in ELF files. In other files, they are keys like all others. */
#ifdef __ELF__
#define JUMPLABEL_RO_ __attribute__((__section__("__jump_ro_keys")))
#else
#define JUMPLABEL_RO_
#endif

#define DEFINE_STATIC_KEY_TRUE(name) JUMPLABEL_KEY_(static_key_true, name, , 1)
#define DEFINE_STATIC_KEY_FALSE(name) JUMPLABEL_KEY_(static_key_false, name, , 0)
#define DECLARE_STATIC_KEY_TRUE(name) extern struct static_key_true name
#define DECLARE_STATIC_KEY_FALSE(name) extern struct static_key_false name
#define DEFINE_STATIC_KEY_TRUE_OR_LOAD(name) JUMPLABEL_KEY_(static_key_true_or_load, name, , 1)
#define DEFINE_STATIC_KEY_FALSE_OR_LOAD(name) JUMPLABEL_KEY_(static_key_false_or_load, name, , 0)
#define DECLARE_STATIC_KEY_TRUE_OR_LOAD(name) extern struct static_key_true_or_load name
#define DECLARE_STATIC_KEY_FALSE_OR_LOAD(name) extern struct static_key_false_or_load name
#define DEFINE_STATIC_KEY_TRUE_RO(name) JUMPLABEL_KEY_(static_key_true, name, JUMPLABEL_RO_, 1)
#define DEFINE_STATIC_KEY_FALSE_RO(name) JUMPLABEL_KEY_(static_key_false, name, JUMPLABEL_RO_, 0)
#define DEFINE_STATIC_KEY_ARRAY_TRUE(name, count) JUMPLABEL_KEYS_(static_key_true, name, count, 1)
#define DEFINE_STATIC_KEY_ARRAY_FALSE(name, count) JUMPLABEL_KEYS_(static_key_false, name, count, 0)
#define DEFINE_STATIC_KEY_ARRAY_TRUE_OR_LOAD(name, count) JUMPLABEL_KEYS_(static_key_true_or_load, name, count, 1)
#define DEFINE_STATIC_KEY_ARRAY_FALSE_OR_LOAD(name, count) JUMPLABEL_KEYS_(static_key_false_or_load, name, count, 0)

/* Keys that start on if the macro `config` is defined as 1, and off if it is 0 or undefined. */
#define DEFINE_STATIC_KEY_MAYBE(config, name) JUMPLABEL_CHOOSE_(config, DEFINE_STATIC_KEY_TRUE, DEFINE_STATIC_KEY_FALSE)(name)
#define DEFINE_STATIC_KEY_MAYBE_RO(config, name) JUMPLABEL_CHOOSE_(config, DEFINE_STATIC_KEY_TRUE_RO, DEFINE_STATIC_KEY_FALSE_RO)(name)
#define DECLARE_STATIC_KEY_MAYBE(config, name) JUMPLABEL_CHOOSE_(config, DECLARE_STATIC_KEY_TRUE, DECLARE_STATIC_KEY_FALSE)(name)
#define JUMPLABEL_CHOOSE_(config, yes, no) JUMPLABEL_CHOOSE_PROBE_(config, yes, no)
#define JUMPLABEL_CHOOSE_PROBE_(value, yes, no) JUMPLABEL_EXPAND_(JUMPLABEL_SECOND_(JUMPLABEL_PROBE_##value yes, no, ~))
#define JUMPLABEL_PROBE_1 ,
#define JUMPLABEL_EXPAND_(x) x
#define JUMPLABEL_SECOND_(...) JUMPLABEL_EXPAND_(JUMPLABEL_SECOND_OF_(__VA_ARGS__))
#define JUMPLABEL_SECOND_OF_(first, second, ...) second

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

JUMPLABEL_INLINE_ int jumplabel_count_(const struct static_key *_key)
{
	return JUMPLABEL_LOAD_WORD_(&_key->_enabled) & 0x7fffffff;
}

/* Takes a struct static_key, static_key_true or static_key_false. Macros that use `(x)->key` accept only a key with a type. */
#define static_key_count(x) jumplabel_count_((const struct static_key *)(const void *)(x))
#define static_key_enabled(x) (static_key_count(x) > 0)
#define jump_label_enabled(x) static_key_enabled(x)
#define static_branch_likely(x) JUMPLABEL_EXPECT_(jumplabel_count_(&(x)->key) != 0, 1)
#define static_branch_unlikely(x) JUMPLABEL_EXPECT_(jumplabel_count_(&(x)->key) != 0, 0)
#define static_branch_maybe(config, x) JUMPLABEL_CHOOSE_(config, static_branch_likely, static_branch_unlikely)(x)

/* ---- Changes ---------------------------------------------------------------------------------------------------- */

/* If a function without a result fails, it calls the hook of jumplabel_set_warn(). */
JUMPLABEL_OPTIONAL_API_ void static_key_enable(struct static_key *_key), static_key_disable(struct static_key *_key);
JUMPLABEL_OPTIONAL_API_ void static_key_slow_dec(struct static_key *_key);
JUMPLABEL_OPTIONAL_API_ bool static_key_slow_inc(struct static_key *_key), static_key_fast_inc_not_disabled(struct static_key *_key);

#define static_branch_enable(x) static_key_enable(&(x)->key)
#define static_branch_disable(x) static_key_disable(&(x)->key)
#define static_branch_inc(x) static_key_slow_inc(&(x)->key)
#define static_branch_dec(x) static_key_slow_dec(&(x)->key)

/* There is nothing to do here without sites. */
#define jumplabel_prepare() 0
#define jump_label_init() ((void)0)
#define static_key_initialized true
#define STATIC_KEY_CHECK_USE(key) ((void)(key))
/* Seals the _RO keys of the program or library. */
JUMPLABEL_OPTIONAL_API_ void jump_label_init_ro(void);

/* Changes that return 0 or a number of errno.h with the sign changed: -EINVAL: no key, -EBUSY: several users, -ERANGE: the key is off, -EOVERFLOW:
   the count is INT_MAX, -EROFS: the key is sealed. */
JUMPLABEL_OPTIONAL_API_ int jumplabel_enable(struct static_key *_key), jumplabel_disable(struct static_key *_key);
JUMPLABEL_OPTIONAL_API_ int jumplabel_seal(struct static_key *_key);
JUMPLABEL_OPTIONAL_API_ int jumplabel_inc(struct static_key *_key), jumplabel_dec(struct static_key *_key);
JUMPLABEL_OPTIONAL_API_ const char *jumplabel_strerror(int _error);
#define jumplabel_key(x) ((struct static_key *)(void *)(x))

/* All or nothing: after an error, the changes of this call are undone. If another thread enables, disables or seals one of the keys just then, its
   change may be lost, or leave a user too many. If a key is listed twice, the last change wins. */
struct jumplabel_change { struct static_key *key; bool enable; };
JUMPLABEL_OPTIONAL_API_ int jumplabel_set_all(const struct jumplabel_change *_changes, size_t _count);
typedef void (*jumplabel_warn_fn)(const char *_message, void *_data);
JUMPLABEL_OPTIONAL_API_ void jumplabel_set_warn(jumplabel_warn_fn _hook, void *_data);

/* ---- Functions that are called after changes -------------------------------------------------------------------- */

/* Who asked for a change: the program, or the variable JUMPLABEL. The other two, `uid` and `mode` are used by the library only. */
enum { JUMPLABEL_BY_PROGRAM, JUMPLABEL_BY_STARTUP, JUMPLABEL_BY_OPERATOR, JUMPLABEL_BY_REVERT };
struct jumplabel_changed { struct static_key *key; struct static_mode *mode; int state, by; unsigned int uid; };
typedef void (*jumplabel_changed_fn)(const struct jumplabel_changed *_changed, void *_data);
/* Registers `_told`, which the thread that makes a change calls for each key that went on or off: for `_key`, or for any if that is NULL. It may
   change keys; then it is called inside the call. Returns a number above 0; -ENOMEM: 64 are registered. Removing returns how many calls still run. */
JUMPLABEL_OPTIONAL_API_ int jumplabel_on_change(const struct static_key *_key, jumplabel_changed_fn _told, void *_data);
JUMPLABEL_OPTIONAL_API_ long jumplabel_on_change_remove(int _number);

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* The names of a key or of an array. A constructor links this into the list. */
struct jumplabel_record_ {
	struct static_key *_keys;
	unsigned int _count, _line;
	int _is_array;
	const char *_path, *_name, *_file;
	struct jumplabel_record_ *_next;
};
JUMPLABEL_OPTIONAL_API_ void jumplabel_link_record_(struct jumplabel_record_ *_record);

#define RECORD_STATIC_KEY(variable, name) JUMPLABEL_RECORD_AT_(__COUNTER__, &(variable).key, 1, 0, #variable, name)
#define RECORD_STATIC_KEY_ARRAY(variable, name)                                                                        \
	JUMPLABEL_RECORD_AT_(__COUNTER__, &(variable)[0].key, sizeof(variable) / sizeof((variable)[0]), 1, #variable, name)
#define JUMPLABEL_RECORD_AT_(id, first, count, is_array, path, name) JUMPLABEL_RECORD_(id, first, count, is_array, path, name)
#define JUMPLABEL_RECORD_(id, first, count, is_array, path, name)                                                      \
	static struct jumplabel_record_ jumplabel_record_##id##_ = { first, count, __LINE__, is_array, path, name, __FILE__, 0 }; \
	JUMPLABEL_CONSTRUCTOR_(101, "T", jumplabel_link_##id##_) { jumplabel_link_record_(&jumplabel_record_##id##_); }        \
	struct jumplabel_semicolon_

/* In ELF and PE files, constructors with this number run before others. In Mach-O files, those of a file run in their order, and files in the order
   in which they are linked. With MSVC, they run in the order of the letters. */
#ifdef __GNUC__
#define JUMPLABEL_CONSTRUCTOR_(number, letter, function)                                                               \
	__attribute__((__constructor__(number), __used__)) static void function(void)
#else
#define JUMPLABEL_CONSTRUCTOR_(number, letter, function)                                                               \
	static void __cdecl function(void);                                                                            \
	__pragma(section(".CRT$XC" letter, read)) __declspec(allocate(".CRT$XC" letter)) void(__cdecl *function##at_)(void) = function; \
	static void __cdecl function(void)
#endif

struct jumplabel_key_info {
	struct static_key *key;
	const char *name, *path, *module, *file;
	size_t name_length, path_length, module_length, file_length, sites;
	unsigned int line, column;
	int element;
};
/* Calls `_visit`, if not NULL, for each key with a record. Returns their number. It may change keys. With the library, texts do not end with a 0. */
JUMPLABEL_OPTIONAL_API_ long jumplabel_for_each_key(void (*_visit)(const struct jumplabel_key_info *_info, void *_data), void *_data);

/* ---- The start variable ----------------------------------------------------------------------------------------- */

/* Does what JUMPLABEL says, once. docs/operating.md of jumplabel has the grammar: NAME=on, =off, +1, -1 and file:PATH[:LINE[-LINE]], with commas
   between them, @FILE, help. */
JUMPLABEL_OPTIONAL_API_ void jumplabel_startup(void);
#define JUMPLABEL_STARTUP() \
	JUMPLABEL_CONSTRUCTOR_(102, "U", jumplabel_startup_here_) { jumplabel_startup(); } struct jumplabel_semicolon_

JUMPLABEL_OPTIONAL_END_

#endif

/* ---- In both modes ---------------------------------------------------------------------------------------------- */

JUMPLABEL_OPTIONAL_BEGIN_

/* The key of this name ("net.trace", "hooks[2]"). NULL if there is none, or if there are several. */
JUMPLABEL_OPTIONAL_API_ struct static_key *jumplabel_optional_find_key(const char *_name);

/* Lists all keys as text: "net.trace on\n". Writes the lines that fit into `_size` bytes, and a 0. Returns the length of all lines. */
JUMPLABEL_OPTIONAL_API_ size_t jumplabel_optional_list(char *_text, size_t _size);

/* Each file refers to these, and one file defines them, so that the linker finds mistakes. */
JUMPLABEL_OPTIONAL_API_ extern const char JUMPLABEL_OPTIONAL_MODE_;
JUMPLABEL_OPTIONAL_API_ extern const char JUMPLABEL_OPTIONAL_IMPLEMENTATION_is_in_two_files;
#if defined(__GNUC__)
#if defined(__has_attribute)
#if __has_attribute(__retain__) && defined(__ELF__)
#define JUMPLABEL_OPTIONAL_KEPT_ __attribute__((__used__, __retain__))
#endif
#endif
#ifndef JUMPLABEL_OPTIONAL_KEPT_
#define JUMPLABEL_OPTIONAL_KEPT_ __attribute__((__used__))
#endif
static const char *const jumplabel_optional_mode_ JUMPLABEL_OPTIONAL_KEPT_ = &JUMPLABEL_OPTIONAL_MODE_;
#elif JUMPLABEL_OPTIONAL_LIBRARY
#pragma detect_mismatch("jumplabel-optional.h", "version 1 with the library")
#else
#pragma detect_mismatch("jumplabel-optional.h", "version 1 without the library")
#endif

JUMPLABEL_OPTIONAL_END_

/* ---- The implementation, in one file ---------------------------------------------------------------------------- */

#ifdef JUMPLABEL_OPTIONAL_IMPLEMENTATION

#include <stdio.h>
#include <string.h>

JUMPLABEL_OPTIONAL_BEGIN_

const char JUMPLABEL_OPTIONAL_MODE_ = 0;
const char JUMPLABEL_OPTIONAL_IMPLEMENTATION_is_in_two_files = 0;

/* Writes the name of a key, with the number of its element, if it fits. Returns its length. */
static size_t jumplabel_full_name_(char *_text, size_t _size, const struct jumplabel_key_info *_info)
{
	char _number[16] = "";
	size_t _length;
	if (_info->element >= 0)
		sprintf(_number, "[%d]", _info->element);
	_length = _info->name_length + strlen(_number);
	if (_length < _size) {
		memcpy(_text, _info->name, _info->name_length);
		strcpy(_text + _info->name_length, _number);
	}
	return _length;
}

struct jumplabel_search_ { const char *_name; struct static_key *_key; int _count; };

static void jumplabel_compare_(const struct jumplabel_key_info *_info, void *_data)
{
	struct jumplabel_search_ *_search = (struct jumplabel_search_ *)_data;
	char _name[1024];
	if (jumplabel_full_name_(_name, sizeof(_name), _info) < sizeof(_name) && !strcmp(_name, _search->_name)) {
		_search->_key = _info->key;
		_search->_count++;
	}
}

struct static_key *jumplabel_optional_find_key(const char *_name)
{
	struct jumplabel_search_ _search = { _name, 0, 0 };
	jumplabel_for_each_key(jumplabel_compare_, &_search);
	return _search._count == 1 ? _search._key : 0;
}

struct jumplabel_text_ { char *_text; size_t _size, _length; };

static void jumplabel_append_(const struct jumplabel_key_info *_info, void *_data)
{
	struct jumplabel_text_ *_to = (struct jumplabel_text_ *)_data;
	const char *_state = static_key_enabled(_info->key) ? " on\n" : " off\n";
	size_t _length = jumplabel_full_name_(0, 0, _info) + strlen(_state);
	if (_to->_length + _length < _to->_size) {
		jumplabel_full_name_(_to->_text, _length, _info);
		strcat(_to->_text, _state);
		_to->_text += _length;
	} else {
		_to->_size = 0; /* Only whole lines, from the first on. */
	}
	_to->_length += _length;
}

size_t jumplabel_optional_list(char *_text, size_t _size)
{
	struct jumplabel_text_ _to = { _text, _size, 0 };
	if (_size > 0)
		_text[0] = 0;
	jumplabel_for_each_key(jumplabel_append_, &_to);
	return _to._length;
}

#if !JUMPLABEL_OPTIONAL_LIBRARY

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#ifdef __GNUC__
#define JUMPLABEL_EXCHANGE_WORD_(at, old, now) __atomic_compare_exchange_n(at, &(old), now, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)
#define JUMPLABEL_FENCE_() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define JUMPLABEL_LOAD_POINTER_(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define JUMPLABEL_STORE_POINTER_(at, now) __atomic_store_n(at, now, __ATOMIC_RELEASE)
#define JUMPLABEL_SET_POINTER_(at, now) jumplabel_set_pointer_(at, now)
static int jumplabel_set_pointer_(struct jumplabel_record_ **_at, struct jumplabel_record_ *_now)
{
	struct jumplabel_record_ *_none = 0;
	return __atomic_compare_exchange_n(_at, &_none, _now, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
#else
#define JUMPLABEL_EXCHANGE_WORD_(at, old, now) (_InterlockedCompareExchange((volatile long *)(at), now, old) == (old))
#define JUMPLABEL_FENCE_() ((void)0) /* An exchange is a fence itself. */
#define JUMPLABEL_LOAD_POINTER_(at) (*(at))
#define JUMPLABEL_STORE_POINTER_(at, now) ((void)_InterlockedExchangePointer((void *volatile *)(at), now))
#define JUMPLABEL_SET_POINTER_(at, now) (_InterlockedCompareExchangePointer((void *volatile *)(at), now, 0) == 0)
#endif

/* ---- Changes ---------------------------------------------------------------------------------------------------- */

/* `_id` is 0 if the slot is free, and -1 while it is filled. A caller first adds itself to `_running`, and then checks the id again. */
struct jumplabel_slot_ { int _id, _running; const struct static_key *_of; jumplabel_changed_fn _told; void *_data; };
static struct jumplabel_slot_ jumplabel_slots_[64];

static int jumplabel_add_(int *_at, int _more)
{
	int _word;
	do
		_word = JUMPLABEL_LOAD_WORD_(_at);
	while (!JUMPLABEL_EXCHANGE_WORD_(_at, _word, _word + _more));
	return _word + _more;
}

int jumplabel_on_change(const struct static_key *_key, jumplabel_changed_fn _told, void *_data)
{
	static int _given;
	int _at, _id;
	for (_at = 0; _told && _at < 64; _at++) {
		struct jumplabel_slot_ *_slot = &jumplabel_slots_[_at];
		int _free = 0;
		if (!JUMPLABEL_EXCHANGE_WORD_(&_slot->_id, _free, -1))
			continue;
		_id = jumplabel_add_(&_slot->_running, 0) == 0 ? jumplabel_add_(&_given, 1) % 0xffffff * 64 + _at + 64 : 0;
		if (_id) /* Otherwise a call of the removed function still runs. */
			_slot->_of = _key, _slot->_told = _told, _slot->_data = _data;
		jumplabel_add_(&_slot->_id, _id + 1);
		JUMPLABEL_FENCE_();
		if (_id)
			return _id;
	}
	return _told ? -ENOMEM : -EINVAL;
}

long jumplabel_on_change_remove(int _number)
{
	struct jumplabel_slot_ *_slot = &jumplabel_slots_[_number > 0 ? _number % 64 : 0];
	int _id = _number;
	if (_number > 0)
		(void)JUMPLABEL_EXCHANGE_WORD_(&_slot->_id, _id, 0);
	return _number > 0 && jumplabel_add_(&_slot->_id, 0) <= 0 ? jumplabel_add_(&_slot->_running, 0) : 0;
}

static void jumplabel_tell_(struct static_key *_key, int _state, int _by)
{
	struct jumplabel_changed _changed = { _key, 0, _state, _by, 0 };
	int _at, _id;
	JUMPLABEL_FENCE_();
	for (_at = 0; _at < 64; _at++) {
		struct jumplabel_slot_ *_slot = &jumplabel_slots_[_at];

		_id = JUMPLABEL_LOAD_WORD_(&_slot->_id);
		if (_id <= 0)
			continue;
		jumplabel_add_(&_slot->_running, 1);
		if (JUMPLABEL_EXCHANGE_WORD_(&_slot->_id, _id, _id) && (!_slot->_of || _slot->_of == _key))
			_slot->_told(&_changed, _slot->_data);
		jumplabel_add_(&_slot->_running, -1);
	}
}

static jumplabel_warn_fn jumplabel_hook_;
static void *jumplabel_hook_data_;

void jumplabel_set_warn(jumplabel_warn_fn _hook, void *_data)
{
	jumplabel_hook_data_ = _data;
	jumplabel_hook_ = _hook;
}

const char *jumplabel_strerror(int _error)
{
	return _error == 0 ? "no error" : _error == -EINVAL ? "there is no key" : _error == -ERANGE ? "the key is off: there is one dec more than inc" :
	       _error == -EBUSY ? "the key has several users: it stays on until each has called dec" : _error == -EOVERFLOW ? "the key has INT_MAX users" :
	       _error == -EROFS ? "the key is sealed" : _error == -ENOMEM ? "no memory" : "an unknown error";
}

enum { JUMPLABEL_INC_ = 2, JUMPLABEL_DEC_, JUMPLABEL_SEAL_, JUMPLABEL_FAST_INC_ };

/* Changes a key. `_goal` is 0 for off, 1 for on, or one of the above. `_was` gets the word before the change. */
static int jumplabel_change_(struct static_key *_key, int _goal, int *_was)
{
	int _word, _now;
	if (!_key)
		return -EINVAL;
	do {
		*_was = _word = JUMPLABEL_LOAD_WORD_(&_key->_enabled);
		if (_word < 0)
			return _goal == JUMPLABEL_SEAL_ || (_goal <= 1 && (_word != INT_MIN) == _goal) ? 0 : -EROFS;
		if (_goal <= 1 && _word > 1)
			return -EBUSY;
		if (_word == INT_MAX && (_goal == JUMPLABEL_INC_ || _goal == JUMPLABEL_FAST_INC_))
			return -EOVERFLOW;
		if (_word == 0 && (_goal == JUMPLABEL_DEC_ || _goal == JUMPLABEL_FAST_INC_))
			return -ERANGE;
		_now = _goal <= 1 ? _goal : _goal == JUMPLABEL_DEC_ ? _word - 1 : _goal == JUMPLABEL_SEAL_ ? _word | INT_MIN : _word + 1;
	} while (_now != _word && !JUMPLABEL_EXCHANGE_WORD_(&_key->_enabled, _word, _now));
	return 0;
}

/* Changes a key, and calls the registered functions. */
static int jumplabel_changed_(struct static_key *_key, int _goal, int _by)
{
	int _was = 0, _error = jumplabel_change_(_key, _goal, &_was);
	if (!_error && (_goal == JUMPLABEL_DEC_ ? _was == 1 : _goal == 0 ? _was > 0 : _goal <= JUMPLABEL_INC_ && _was == 0))
		jumplabel_tell_(_key, _goal != 0 && _goal != JUMPLABEL_DEC_, _by);
	return _error;
}

static bool jumplabel_heed_(int _error)
{
	if (_error && jumplabel_hook_)
		jumplabel_hook_(jumplabel_strerror(_error), jumplabel_hook_data_);
	else if (_error)
		fprintf(stderr, "jumplabel: %s\n", jumplabel_strerror(_error));
	return _error == 0;
}

#define JUMPLABEL_CHANGE_(name, type, result, goal) \
	type name(struct static_key *_key) { result(jumplabel_changed_(_key, goal, JUMPLABEL_BY_PROGRAM)); }
JUMPLABEL_CHANGE_(jumplabel_enable, int, return, 1)
JUMPLABEL_CHANGE_(jumplabel_disable, int, return, 0)
JUMPLABEL_CHANGE_(jumplabel_inc, int, return, JUMPLABEL_INC_)
JUMPLABEL_CHANGE_(jumplabel_dec, int, return, JUMPLABEL_DEC_)
JUMPLABEL_CHANGE_(jumplabel_seal, int, return, JUMPLABEL_SEAL_)
JUMPLABEL_CHANGE_(static_key_enable, void, jumplabel_heed_, 1)
JUMPLABEL_CHANGE_(static_key_disable, void, jumplabel_heed_, 0)
JUMPLABEL_CHANGE_(static_key_slow_inc, bool, return jumplabel_heed_, JUMPLABEL_INC_)
JUMPLABEL_CHANGE_(static_key_slow_dec, void, jumplabel_heed_, JUMPLABEL_DEC_)
JUMPLABEL_CHANGE_(static_key_fast_inc_not_disabled, bool, return 0 ==, JUMPLABEL_FAST_INC_)

static int jumplabel_set_all_(const struct jumplabel_change *_changes, size_t _count, int _by)
{
	unsigned char _few[128], *_flipped = _few;
	int _error = 0, _was = 0;
	size_t _at;
	if (_count > 0 && !_changes)
		return -EINVAL;
	if (_count > sizeof(_few) * 8 && !(_flipped = (unsigned char *)malloc(_count / 8 + 1)))
		return -ENOMEM;
	memset(_flipped, 0, _flipped == _few ? sizeof(_few) : _count / 8 + 1);
	for (_at = 0; _at < _count && !_error; _at++) {
		_error = jumplabel_change_(_changes[_at].key, _changes[_at].enable, &_was);
		if (!_error && ((_was & INT_MAX) > 0) != _changes[_at].enable)
			_flipped[_at / 8] = (unsigned char)(_flipped[_at / 8] | 1u << _at % 8);
	}
	for (_at -= _error != 0; _error && _at-- > 0;)
		if (_flipped[_at / 8] & 1u << _at % 8)
			jumplabel_change_(_changes[_at].key, _changes[_at].enable ? JUMPLABEL_DEC_ : JUMPLABEL_INC_, &_was);
	for (_at = 0; !_error && _at < _count; _at++)
		if (_flipped[_at / 8] & 1u << _at % 8)
			jumplabel_tell_(_changes[_at].key, _changes[_at].enable, _by);
	if (_flipped != _few)
		free(_flipped);
	return _error;
}

int jumplabel_set_all(const struct jumplabel_change *_changes, size_t _count)
{
	return jumplabel_set_all_(_changes, _count, JUMPLABEL_BY_PROGRAM);
}

#ifdef __ELF__
extern struct static_key __start___jump_ro_keys[] __attribute__((__weak__, __visibility__("hidden")));
extern struct static_key __stop___jump_ro_keys[] __attribute__((__weak__, __visibility__("hidden")));
#endif

void jump_label_init_ro(void)
{
#ifdef __ELF__
	struct static_key *_key;
	for (_key = __start___jump_ro_keys; _key < __stop___jump_ro_keys; _key++)
		jumplabel_seal(_key);
#endif
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* The records, in the order in which constructors run. */
static struct jumplabel_record_ *jumplabel_first_, *jumplabel_last_;

void jumplabel_link_record_(struct jumplabel_record_ *_record)
{
	struct jumplabel_record_ **_at = &jumplabel_first_, *_next = JUMPLABEL_LOAD_POINTER_(&jumplabel_last_);
	if (_next)
		_at = &_next->_next;
	while (!JUMPLABEL_SET_POINTER_(_at, _record)) {
		_next = JUMPLABEL_LOAD_POINTER_(_at);
		if (_next == _record)
			return;
		_at = &_next->_next;
	}
	JUMPLABEL_STORE_POINTER_(&jumplabel_last_, _record);
}

long jumplabel_for_each_key(void (*_visit)(const struct jumplabel_key_info *_info, void *_data), void *_data)
{
	const struct jumplabel_record_ *_record;
	struct jumplabel_key_info _info;
	unsigned int _at;
	long _count = 0;
	for (_record = JUMPLABEL_LOAD_POINTER_(&jumplabel_first_); _record; _record = JUMPLABEL_LOAD_POINTER_(&_record->_next)) {
		memset(&_info, 0, sizeof(_info));
		_info.module = "";
		_info.name_length = strlen(_info.name = _record->_name[0] ? _record->_name : _record->_path);
		_info.path_length = strlen(_info.path = _record->_path);
		_info.file_length = strlen(_info.file = _record->_file);
		_info.line = _record->_line;
		_info.column = 1;
		for (_at = 0; _at < _record->_count; _at++, _count++) {
			_info.key = _record->_keys + _at;
			_info.element = _record->_is_array ? (int)_at : -1;
			if (_visit)
				_visit(&_info, _data);
		}
	}
	return _count;
}

/* ---- The start variable ----------------------------------------------------------------------------------------- */

/* True if the pattern matches all of a text: `*` stands for any text, `?` for one character (in UTF-8, one or more bytes). */
static int jumplabel_matches_(const char *_pattern, const char *_end, const char *_text)
{
	const char *_behind_star = 0, *_from = 0;
	for (;;) {
		if (_pattern < _end && *_pattern == '*') {
			_behind_star = ++_pattern;
			_from = _text;
		} else if (*_text && _pattern < _end && (*_pattern == '?' || *_pattern == *_text)) {
			_pattern++;
			do
				_text++;
			while (_pattern[-1] == '?' && ((unsigned char)*_text & 0xc0) == 0x80);
		} else if (!*_text && _pattern == _end) {
			return 1;
		} else if (_behind_star && *_from) {
			_pattern = _behind_star;
			_text = ++_from;
		} else {
			return 0;
		}
	}
}

/* True if the pattern matches a path, or the last components of it. */
static int jumplabel_matches_path_(const char *_pattern, const char *_end, const char *_path)
{
	while (!jumplabel_matches_(_pattern, _end, _path)) {
		while (*_path && *_path != '/' && *_path != '\\')
			_path++;
		if (!*_path++)
			return 0;
	}
	return 1;
}

/* One item of the variable. */
struct jumplabel_item_ {
	const char *_pattern, *_end;
	int _is_file, _goal;
	unsigned long _first, _last;
	struct jumplabel_change *_changes;
	size_t _count;
};

static void jumplabel_choose_(const struct jumplabel_key_info *_info, void *_data)
{
	struct jumplabel_item_ *_item = (struct jumplabel_item_ *)_data;
	char _name[1024];
	if (_item->_is_file) {
		if (_info->line < _item->_first || _info->line > _item->_last || !jumplabel_matches_path_(_item->_pattern, _item->_end, _info->file))
			return;
	} else if (jumplabel_full_name_(_name, sizeof(_name), _info) >= sizeof(_name) || !jumplabel_matches_(_item->_pattern, _item->_end, _name)) {
		return;
	}
	if (_item->_changes) {
		_item->_changes[_item->_count].key = _info->key;
		_item->_changes[_item->_count].enable = _item->_goal == 1;
	}
	_item->_count++;
}

/* Reads `:LINE` or `:LINE-LINE` at the end of a file. Returns an error message, or NULL. */
static const char *jumplabel_lines_(struct jumplabel_item_ *_item)
{
	const char *_colon = _item->_end;
	char *_behind;
	_item->_first = 0;
	_item->_last = ULONG_MAX;
	while (_colon > _item->_pattern && *_colon != ':')
		_colon--;
	if (*_colon != ':' || _colon == _item->_end)
		return 0;
	_item->_first = _item->_last = strtoul(_colon + 1, &_behind, 10);
	if (_colon[1] >= '0' && _colon[1] <= '9' && *_behind == '-' && _behind[1] >= '0' && _behind[1] <= '9')
		_item->_last = strtoul(_behind + 1, &_behind, 10);
	if (_colon[1] < '0' || _colon[1] > '9' || _behind != _item->_end)
		return "these are no lines; write file:PATH:FIRST-LAST";
	_item->_end = _colon;
	return _item->_first > _item->_last ? "the last line is in front of the first" : 0;
}

/* Reads an item. Returns an error message, or NULL. */
static const char *jumplabel_read_item_(struct jumplabel_item_ *_item, const char *_text, const char *_end)
{
	const char *_value = _end;
	while (_value > _text && *_value != '=')
		_value--;
	_item->_pattern = _text;
	_item->_end = _value;
	if (*_value == '=' && _value < _end) {
		if (_end == _value + 1)
			return "a value is missing behind `=`";
		if (_end == _value + 3 && !memcmp(_value, "=on", 3))
			_item->_goal = 1;
		else if (_end == _value + 4 && !memcmp(_value, "=off", 4))
			_item->_goal = 0;
		else
			return "a key is told on, off, +1 or -1";
	} else if (_end - _text > 2 && !memcmp(_end - 2, "+1", 2)) {
		_item->_goal = JUMPLABEL_INC_;
		_item->_end = _end - 2;
	} else if (_end - _text > 2 && !memcmp(_end - 2, "-1", 2)) {
		_item->_goal = JUMPLABEL_DEC_;
		_item->_end = _end - 2;
	} else {
		return "a value is missing: =on, =off, +1 or -1";
	}
	if (_item->_end - _text > 3 && (!memcmp(_text, "fn:", 3) || (_item->_end - _text > 4 && !memcmp(_text, "obj:", 4))))
		return "that takes the library jumplabel; this program was built without it";
	_item->_is_file = _item->_end - _text > 5 && !memcmp(_text, "file:", 5);
	if (_item->_is_file)
		_item->_pattern += 5;
	if (_item->_pattern == _item->_end)
		return "a pattern is missing";
	return _item->_is_file ? jumplabel_lines_(_item) : 0;
}

/* Changes all keys that an item chooses, or none. Returns an error message, or NULL. */
static const char *jumplabel_apply_item_(struct jumplabel_item_ *_item)
{
	int _error = 0;
	size_t _at;
	_item->_changes = 0;
	_item->_count = 0;
	jumplabel_for_each_key(jumplabel_choose_, _item);
	if (_item->_count == 0)
		return "nothing matches; JUMPLABEL=help lists what there is";
	_item->_changes = (struct jumplabel_change *)malloc(_item->_count * sizeof(*_item->_changes));
	if (!_item->_changes)
		return jumplabel_strerror(-ENOMEM);
	_item->_count = 0;
	jumplabel_for_each_key(jumplabel_choose_, _item);
	if (_item->_goal <= 1) {
		_error = jumplabel_set_all_(_item->_changes, _item->_count, JUMPLABEL_BY_STARTUP);
	} else {
		for (_at = 0; _at < _item->_count && !_error; _at++)
			_error = jumplabel_changed_(_item->_changes[_at].key, _item->_goal, JUMPLABEL_BY_STARTUP);
		if (_error)
			for (_at--; _at-- > 0;)
				jumplabel_changed_(_item->_changes[_at].key, _item->_goal ^ 1 /* INC and DEC */, JUMPLABEL_BY_STARTUP);
	}
	free(_item->_changes);
	return _error ? jumplabel_strerror(_error) : 0;
}

/* Does the item from `_text` to `_end`, without the blanks around it. `_file` and `_line` say where it is, if it is in a file. */
static void jumplabel_do_item_(const char *_text, const char *_end, const char *_file, unsigned int _line)
{
	struct jumplabel_item_ _item;
	const char *_wrong;
	char _place[32] = "";
	while (_text < _end && (unsigned char)*_text <= ' ')
		_text++;
	while (_text < _end && (unsigned char)_end[-1] <= ' ')
		_end--;
	if (_text == _end)
		return;
	_wrong = jumplabel_read_item_(&_item, _text, _end);
	if (!_wrong)
		_wrong = jumplabel_apply_item_(&_item);
	if (_file)
		sprintf(_place, ":%u: ", _line);
	if (_wrong)
		fprintf(stderr, "jumplabel: %s%s`%.*s`: %s\n", _file ? _file : "", _place, (int)(_end - _text), _text, _wrong);
}

static void jumplabel_do_file_(const char *_path)
{
	FILE *_file = fopen(_path, "r");
	char _line[4096];
	unsigned int _number = 0;
	if (!_file) {
		fprintf(stderr, "jumplabel: %s: %s\n", _path, strerror(errno));
		return;
	}
	while (fgets(_line, sizeof(_line), _file)) {
		const char *_text = _line + strspn(_line, " \t");

		_number++;
		if (strlen(_line) == sizeof(_line) - 1 && _line[sizeof(_line) - 2] != '\n') {
			fprintf(stderr, "jumplabel: %s:%u: longer than 4 kB: nothing is done from here on\n", _path, _number);
			break;
		}
		if (*_text != '#')
			jumplabel_do_item_(_text, _text + strlen(_text), _path, _number);
	}
	fclose(_file);
}

static void jumplabel_print_(const struct jumplabel_key_info *_info, void *_data)
{
	char _name[1024];
	(void)_data;
	if (jumplabel_full_name_(_name, sizeof(_name), _info) < sizeof(_name))
		printf("%-32s  %-5s  %s:%u\n", _name, static_key_enabled(_info->key) ? "on" : "off", _info->file, _info->line);
}

void jumplabel_startup(void)
{
	static int _is_done;
	const char *_text, *_end;
	if (_is_done)
		return;
	_is_done = 1;
#if defined(__linux__)
	if (getauxval(AT_SECURE)) /* The process has more rights than its user. */
		return;
#elif !defined(_WIN32)
	if (getuid() != geteuid() || getgid() != getegid())
		return;
#endif
	if (getenv("JUMPLABEL_AGENT") && strcmp(getenv("JUMPLABEL_AGENT"), "0") != 0)
		fprintf(stderr, "jumplabel: JUMPLABEL_AGENT: no agent: this program was built without the library jumplabel\n");
	_text = getenv("JUMPLABEL");
	if (!_text)
		return;
	if (!strcmp(_text, "help")) {
		printf("%-32s  STATE  DECLARED\n", "KEY");
		jumplabel_for_each_key(jumplabel_print_, 0);
		_exit(fflush(stdout) != 0);
	} else if (*_text == '@')
		jumplabel_do_file_(_text + 1);
	else
		for (;; _text = _end + 1) {
			_end = _text + strcspn(_text, ",");
			jumplabel_do_item_(_text, _end, 0, 0);
			if (!*_end)
				break;
		}
}

#endif

JUMPLABEL_OPTIONAL_END_

#endif

#endif
