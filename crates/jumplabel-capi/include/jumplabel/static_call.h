/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Static calls: calls whose target can be changed at run time, and which cost as much as a direct call. The names and types are those of Linux;
 * docs/linux-api.md lists them one by one.
 *
 *     int plain(int x), fast(int x);
 *     DEFINE_STATIC_CALL(hook, plain);              in one file
 *     DECLARE_STATIC_CALL(hook, plain);             in others
 *
 *     static_call(hook)(1);                         a call of a trampoline, which jumps to plain(), until
 *     static_call_update(hook, fast);               makes it jump to fast(), for every thread
 *
 * The call is an ordinary call, so any signature works: structures by value, floating point, variable arguments. C++ exceptions pass through it. An
 * update changes code and no data: publish the data that the new target reads before the update, and keep the data of the old target until no thread
 * is in it any more.
 *
 *     DEFINE_STATIC_CALL_NULL(name, func)   calls nothing, until it is updated, and again after an update to NULL. `func` gives the type
 *     static_call_cond(name)(...)           calls the target, if there is one; always evaluates the arguments; has no value
 *     DEFINE_STATIC_CALL_RET0(name, func)   returns 0; for functions that return a pointer, or an integer of at most 64 bits
 *     static_call_query(name)               the target; NULL if there is none
 *     static_call_mod(name)                 the same as static_call()
 *
 * The name of a static call must be unique in a program or shared library. Other objects see it only if this object exports it:
 *
 *     EXPORT_STATIC_CALL(name)              they may call and update it
 *     EXPORT_STATIC_CALL_TRAMP(name)        they may call it
 *
 * Where there are no trampolines (JUMPLABEL_FALLBACK, i386, 64-bit POWER), a call loads a pointer. There, other objects see all calls. All files that
 * name a call must agree on JUMPLABEL_FALLBACK; otherwise the linker does not find a symbol.
 */
#ifndef JUMPLABEL_STATIC_CALL_H
#define JUMPLABEL_STATIC_CALL_H

#include "jump_label.h"

typedef void (*jumplabel_function_)(void);

/* A static call without its type. All members are the library's. */
struct static_call_key {
	jumplabel_function_ _slot;
	jumplabel_function_ _func;
	jumplabel_function_ _first;
	unsigned int _flags;
} __attribute__((__aligned__(8)));

/* A call's first target and __static_call_return0(), with the addresses that they have in the file that defines the call. */
struct jumplabel_call_ {
	struct static_call_key *key;
	jumplabel_function_ _first, _zero;
};

#define STATIC_CALL_KEY_PREFIX __SCK__
#define STATIC_CALL_KEY_PREFIX_STR "__SCK__"
#define STATIC_CALL_KEY_PREFIX_LEN (sizeof(STATIC_CALL_KEY_PREFIX_STR) - 1)
#define STATIC_CALL_TRAMP_PREFIX __SCT__
#define STATIC_CALL_TRAMP_PREFIX_STR "__SCT__"
#define STATIC_CALL_TRAMP_PREFIX_LEN (sizeof(STATIC_CALL_TRAMP_PREFIX_STR) - 1)

#define JUMPLABEL_PASTE_(a, b) a##b
#define JUMPLABEL_TEXT_(name) #name

/* Goes through a function, because the linker would copy a variable of a shared library into the program. */
#define STATIC_CALL_KEY(name) (*JUMPLABEL_CALL_(name)().key)
#define STATIC_CALL_KEY_STR(name) STATIC_CALL_KEY_PREFIX_STR JUMPLABEL_TEXT_(name)
#define STATIC_CALL_TRAMP(name) JUMPLABEL_PASTE_(__SCT__, name)
#define STATIC_CALL_TRAMP_STR(name) STATIC_CALL_TRAMP_PREFIX_STR JUMPLABEL_TEXT_(name)
#define JUMPLABEL_CALL_(name) JUMPLABEL_PASTE_(__SCC__, name)
#define JUMPLABEL_CALL_KEY_(name) JUMPLABEL_PASTE_(__SCK__, name)
#define JUMPLABEL_CALL_TYPE_(name) __typeof__(&STATIC_CALL_TRAMP(name))

#ifdef __cplusplus
#define JUMPLABEL_EXTERN_C_ extern "C"
#define JUMPLABEL_NOEXCEPT_ noexcept
#else
#define JUMPLABEL_EXTERN_C_ extern
#define JUMPLABEL_NOEXCEPT_
#endif

JUMPLABEL_C_BEGIN_

/* Returns 0, whatever its arguments are. static_call_query() returns this function for a call that returns 0; in each object, it is that of the
   object's own instance of the library. */
long __static_call_return0(void);

/* Makes the call lead to `_func`, or to its first target if `_func` is `_first`. Returns 0, or, after a warning, a negative errno. */
int jumplabel_static_call_update(struct static_call_key *_key, jumplabel_function_ _func, jumplabel_function_ _first);

JUMPLABEL_C_END_

/* The target of a call that calls nothing, and of one that returns 0. It is in the same object as the call. */
static __inline__ long long jumplabel_return0_(void)
{
	return 0;
}

static __inline__ jumplabel_function_ jumplabel_load_(const struct static_call_key *_key)
{
	return __atomic_load_n(&_key->_func, __ATOMIC_ACQUIRE);
}

/* Replaces __static_call_return0() by that of the object that defines the call. */
static __inline__ jumplabel_function_ jumplabel_function_of_(struct jumplabel_call_ _call, jumplabel_function_ _func)
{
	return _func == JUMPLABEL_CAST_(jumplabel_function_, __static_call_return0) ? _call._zero : _func;
}

static __inline__ int jumplabel_update_(struct jumplabel_call_ _call, jumplabel_function_ _func)
{
	return jumplabel_static_call_update(_call.key, jumplabel_function_of_(_call, _func), _call._first);
}

static __inline__ jumplabel_function_ jumplabel_query_(struct jumplabel_call_ _call)
{
	jumplabel_function_ _func = jumplabel_load_(_call.key);

	if (!_func)
		_func = _call._first;
	return _func == _call._zero ? JUMPLABEL_CAST_(jumplabel_function_, __static_call_return0) : _func;
}

/* The types that static_call_update() accepts: those that convert to the call's type, and a void pointer, for `(void *)&__static_call_return0`. */
#ifdef __cplusplus
extern "C++" {
template <class _type> struct jumplabel_void_ {};
template <> struct jumplabel_void_<void> {
	typedef int _is;
};
/* An overload and not a template argument, because gcc warns of a function's attributes there. */
template <class _type> char jumplabel_at_pointer_(_type *const volatile *);
char (&jumplabel_at_pointer_(...))[2];
template <class _callable> struct jumplabel_target_ {
	_callable _function;
	jumplabel_target_(_callable _target) : _function(_target) {}
	template <class _void, class = typename jumplabel_void_<_void>::_is>
	jumplabel_target_(_void *_target) : _function(reinterpret_cast<_callable>(_target)) {}
};
}
#define JUMPLABEL_IS_POINTER_(x) (sizeof(jumplabel_at_pointer_(&(x))) == 1)
#define JUMPLABEL_TARGET_(name, target) (jumplabel_target_<JUMPLABEL_CALL_TYPE_(name)>((target))._function)
#else
#define JUMPLABEL_IS_POINTER_(x) (__builtin_types_compatible_p(__typeof__(x), __typeof__(&*(x))))
#define JUMPLABEL_TARGET_(name, target)                                                                                \
	__extension__({                                                                                                \
		_Static_assert(_Generic((target), JUMPLABEL_CALL_TYPE_(name): 1, void *: 1, default: 0),               \
			       "static_call_update() takes a function of the type of the call");                            \
		(JUMPLABEL_CALL_TYPE_(name))(target);                                                                  \
	})
#endif

/* The attributes of a function whose text must exist exactly once. */
#ifdef __clang__
#define JUMPLABEL_ONCE_ __attribute__((__used__, __noinline__, __cold__))
#else
#define JUMPLABEL_ONCE_ __attribute__((__used__, __noipa__, __cold__, __externally_visible__))
#endif

#if defined(JUMPLABEL_FALLBACK) || !defined(JUMPLABEL_TRAMPOLINE_)

#define JUMPLABEL_DECLARE_CALL_KEY_(name)                                                                              \
	JUMPLABEL_EXTERN_C_ JUMPLABEL_STRUCT_ static_call_key JUMPLABEL_CALL_KEY_(name) __asm__("__SCF__" JUMPLABEL_TEXT_(name)) \
		JUMPLABEL_SHOWN_

#define JUMPLABEL_STATIC_CALL_(name, type, lead, leads_to, call_flags)                                                 \
	DECLARE_STATIC_CALL(name, type);                                                                               \
	JUMPLABEL_STRUCT_ static_call_key JUMPLABEL_CALL_KEY_(name) = { JUMPLABEL_NULL_, leads_to, JUMPLABEL_NULL_, call_flags }; \
	JUMPLABEL_EXTERN_C_ JUMPLABEL_STRUCT_ jumplabel_call_ JUMPLABEL_CALL_(name)(void)                              \
	{                                                                                                              \
		JUMPLABEL_STRUCT_ jumplabel_call_ jumplabel_call = { &JUMPLABEL_CALL_KEY_(name), JUMPLABEL_NULL_, JUMPLABEL_RETURN0_ }; \
		return jumplabel_call;                                                                                 \
	}                                                                                                              \
	JUMPLABEL_ASSERT_(1, "")

static __inline__ jumplabel_function_ jumplabel_callable_(const struct static_call_key *_key) JUMPLABEL_NOEXCEPT_
{
	jumplabel_function_ _func = jumplabel_load_(_key);

	return _func ? _func : JUMPLABEL_CAST_(jumplabel_function_, jumplabel_return0_);
}

#define static_call(name) (JUMPLABEL_CAST_(JUMPLABEL_CALL_TYPE_(name), jumplabel_callable_(&JUMPLABEL_CALL_KEY_(name))))

#define STATIC_CALL_TRAMP_ADDR(name) JUMPLABEL_NULL_
/* A DLL exports only the things that it names. clang's text is that of pe.h, but clangs that have the fallback may lack .pushsection; gcc's assembler
   does. gcc exports what a later declaration asks for, even if it is defined already; clang does not allow that. */
#if defined(__MINGW32__) && defined(__clang__)
#define EXPORT_STATIC_CALL(name)                                                                                       \
	__asm__(".section .drectve,\"yni\"\n"                                                                          \
		".ascii \" -export:__SCC__" JUMPLABEL_TEXT_(name) " -export:__SCF__" JUMPLABEL_TEXT_(name) ",data\"\n.text")
#elif defined(__MINGW32__)
#define EXPORT_STATIC_CALL(name)                                                                                       \
	JUMPLABEL_EXTERN_C_ __attribute__((__dllexport__)) JUMPLABEL_STRUCT_ jumplabel_call_ JUMPLABEL_CALL_(name)(void); \
	JUMPLABEL_EXTERN_C_ __attribute__((__dllexport__)) JUMPLABEL_STRUCT_ static_call_key JUMPLABEL_CALL_KEY_(name)
#else
#define EXPORT_STATIC_CALL(name) JUMPLABEL_ASSERT_(sizeof(JUMPLABEL_CALL_KEY_(name)) != 0, "")
#endif
#define EXPORT_STATIC_CALL_TRAMP(name) EXPORT_STATIC_CALL(name)

#else

#define JUMPLABEL_DECLARE_CALL_KEY_(name)                                                                              \
	JUMPLABEL_EXTERN_C_ JUMPLABEL_STRUCT_ static_call_key JUMPLABEL_CALL_KEY_(name) JUMPLABEL_VISIBLE_("hidden")

/*
 * Defines the key, the trampoline, and its table entry (kind 2), in assembler, so that the compiler can neither rename them nor move them to another
 * file. The text is in a function, because only there the compiler tells the assembler its name for `lead`. The directives that hide the names are
 * outside of functions, like those of EXPORT_STATIC_CALL(), which therefore come later in the assembler's file.
 */
#define JUMPLABEL_STATIC_CALL_(name, type, lead, leads_to, flags)                                                      \
	DECLARE_STATIC_CALL(name, type);                                                                               \
	JUMPLABEL_DECLARATION_(__calldecl_##name, JUMPLABEL_TEXT_(name), 4)                                            \
	__asm__(JUMPLABEL_HIDE_("__SCT__" JUMPLABEL_TEXT_(name)) JUMPLABEL_HIDE_("__SCC__" JUMPLABEL_TEXT_(name)));    \
	JUMPLABEL_ONCE_ JUMPLABEL_STRUCT_ jumplabel_call_ JUMPLABEL_CALL_(name)(void)                                  \
	{                                                                                                              \
		JUMPLABEL_STRUCT_ jumplabel_call_ jumplabel_call = { &JUMPLABEL_CALL_KEY_(name), leads_to, JUMPLABEL_RETURN0_ }; \
		__asm__ __volatile__(JUMPLABEL_CALL_TEXT_("__SCK__" JUMPLABEL_TEXT_(name),                             \
							  "__SCT__" JUMPLABEL_TEXT_(name),                             \
							  ".L__SCT__" JUMPLABEL_TEXT_(name), #flags)                   \
				     JUMPLABEL_RECORD_("__SCK__" JUMPLABEL_TEXT_(name) " - .")                         \
				     :                                                                                 \
				     : [_key] JUMPLABEL_KEY_CONSTRAINT_(lead),                                         \
				       [_declaration] JUMPLABEL_KEY_CONSTRAINT_(&__calldecl_##name));                  \
		return jumplabel_call;                                                                                 \
	}                                                                                                              \
	JUMPLABEL_ASSERT_(1, "")

#define JUMPLABEL_CALL_TEXT_(key, trampoline, site, flags)                                                             \
	JUMPLABEL_OBJECT_                                                                                              \
	JUMPLABEL_BEGIN_DATA_(key)                                                                                     \
	key ":\n"                                                                                                      \
	JUMPLABEL_POINTERS_("0, 0, 0")                                                                                 \
	".long " flags "\n"                                                                                            \
	".balign 8\n"                                                                                                  \
	JUMPLABEL_END_OF_(key)                                                                                         \
	".popsection\n"                                                                                                \
	JUMPLABEL_BEGIN_CODE_(trampoline, JUMPLABEL_TRAMPOLINE_ALIGN_)                                                 \
	trampoline ":\n"                                                                                               \
	JUMPLABEL_TRAMPOLINE_(site, JUMPLABEL_KEY_TEXT_, key)                                                          \
	JUMPLABEL_END_OF_(trampoline)                                                                                  \
	JUMPLABEL_TIE_(site, key) "\n"                                                                                 \
	JUMPLABEL_TIE_(site, site "_entry") "\n"                                                                       \
	".popsection\n"                                                                                                \
	JUMPLABEL_KEEP_(JUMPLABEL_KEY_TEXT_)                                                                           \
	".pushsection " JUMPLABEL_NAKED_TABLE_(trampoline) "\n"                                                        \
	".balign 4\n"                                                                                                  \
	site "_entry:\n"                                                                                               \
	".long " site " - .\n"                                                                                         \
	JUMPLABEL_TRAMPOLINE_TO_(site, JUMPLABEL_KEY_TEXT_)                                                            \
	".long " key " - .\n"                                                                                          \
	".long 8\n"                                                                                                    \
	".popsection\n"

#define static_call(name) STATIC_CALL_TRAMP(name)
#define STATIC_CALL_TRAMP_ADDR(name) (&STATIC_CALL_TRAMP(name))

/* If a name is first hidden and then exported in a file, the assembler does the latter. */
#define EXPORT_STATIC_CALL(name)                                                                                       \
	__asm__(JUMPLABEL_EXPORT_("__SCT__" JUMPLABEL_TEXT_(name)) JUMPLABEL_EXPORT_("__SCC__" JUMPLABEL_TEXT_(name)))
#define EXPORT_STATIC_CALL_TRAMP(name) __asm__(JUMPLABEL_EXPORT_("__SCT__" JUMPLABEL_TEXT_(name)))

#endif

#define EXPORT_STATIC_CALL_GPL(name) EXPORT_STATIC_CALL(name)
#define EXPORT_STATIC_CALL_TRAMP_GPL(name) EXPORT_STATIC_CALL_TRAMP(name)

#define JUMPLABEL_RETURN0_ JUMPLABEL_CAST_(jumplabel_function_, __static_call_return0)

/* Visible whatever -fvisibility says: directives of the assembler hide these symbols. */
#define JUMPLABEL_SHOWN_ JUMPLABEL_VISIBLE_("default")

/* The trampoline gets its name by __asm__, because clang warns of extern "C" functions with C++ types. */
#define DECLARE_STATIC_CALL(name, func)                                                                                \
	JUMPLABEL_DECLARE_CALL_KEY_(name);                                                                             \
	JUMPLABEL_EXTERN_C_ JUMPLABEL_STRUCT_ jumplabel_call_ JUMPLABEL_CALL_(name)(void) JUMPLABEL_SHOWN_;            \
	extern __typeof__(func) STATIC_CALL_TRAMP(name) __asm__("__SCT__" JUMPLABEL_TEXT_(name)) JUMPLABEL_SHOWN_;     \
	JUMPLABEL_ASSERT_(!JUMPLABEL_IS_POINTER_(STATIC_CALL_TRAMP(name)),                                             \
			  "a static call is of a function: func or *pointer, and not a pointer")

/* Flag 8 marks a call of C; flag 4, one that may call nothing. */
#define DEFINE_STATIC_CALL(name, func)                                                                                 \
	JUMPLABEL_STATIC_CALL_(name, func, func, JUMPLABEL_CAST_(jumplabel_function_, func), 8)
#define DEFINE_STATIC_CALL_NULL(name, func) JUMPLABEL_STATIC_CALL_(name, func, jumplabel_return0_, JUMPLABEL_NULL_, 12)
#define DEFINE_STATIC_CALL_RET0(name, func)                                                                            \
	JUMPLABEL_STATIC_CALL_(name, func, jumplabel_return0_, JUMPLABEL_RETURN0_, 8)

#define static_call_mod(name) static_call(name)
#define static_call_cond(name) (void)static_call(name)

/* The target of the calls. It may be out of date at once, unless the caller keeps others from updating. */
#define static_call_query(name) (JUMPLABEL_CAST_(JUMPLABEL_CALL_TYPE_(name), jumplabel_query_(JUMPLABEL_CALL_(name)())))

/*
 * Makes all calls lead to `target`: a function of the call's type, or NULL if it may call nothing, or `(void *)&__static_call_return0`. When it
 * returns, every call that starts later, on any thread, goes there; while it runs, calls go to the old or the new target. Threads may still be in the
 * old target afterwards. Returns 0; or, after a warning, a negative error of <jumplabel.h>: then nothing has changed. (In Linux it returns nothing.)
 * It costs, blocks, and is safe as static_branch_enable() is. A target may call it.
 */
#define static_call_update(name, target)                                                                               \
	jumplabel_update_(JUMPLABEL_CALL_(name)(), JUMPLABEL_CAST_(jumplabel_function_, JUMPLABEL_TARGET_(name, target)))

/* Returns 1 if an instruction that flips or updates change overlaps the bytes from `_from` to `_to`, both included; otherwise 0. */
static __inline__ int static_call_text_reserved(const void *_from, const void *_to)
{
	return jump_label_text_reserved(_from, _to);
}

/* Nothing has to be initialised. */
#define static_call_initialized true
static __inline__ int static_call_init(void)
{
	return 0;
}

#endif
