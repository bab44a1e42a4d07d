/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tracepoints: places in the code to which probes can be attached. A place without a probe is one instruction. The names are those of Linux;
 * docs/linux-api.md lists them one by one.
 *
 *     DECLARE_TRACE(packet, TP_PROTO(size_t length, int port), TP_ARGS(length, port));        in a header
 *     DEFINE_TRACE(packet, TP_PROTO(size_t length, int port), TP_ARGS(length, port));         in one file
 *
 *     trace_packet(length, 80);                          a nop, as long as there is no probe
 *     jumplabel_trace(packet)(measure(), 80);            the same, but the arguments are evaluated only if there is a probe
 *
 *     static void probe(void *data, size_t length, int port);
 *     register_trace_packet(probe, data);                calls probe(data, length, 80), on every thread, until
 *     unregister_trace_packet(probe, data);
 *     tracepoint_synchronize_unregister();               now no thread is in the probe: free `data`, unload the code
 *
 *     DEFINE_TRACEPOINT(name, TP_PROTO(...), TP_ARGS(...))   both, for one file
 *     DECLARE_TRACE_NOARGS(name), DEFINE_TRACE_NOARGS(name)  without arguments
 *     trace_NAME_enabled()                               true if there are probes: a check of a static key
 *     register_trace_prio_NAME(probe, data, priority)    probes of higher priority are called earlier; the default is TRACEPOINT_DEFAULT_PRIO
 *
 *     trace_packet() ── site of a key ──► counts its thread ── static call ──► probe           the only one, if its data are NULL
 *                                                                         └──► list ──► each
 *
 * A static call changes code and no data. So that no probe is called with the data of another, the probes are in a list, each with its data. The list
 * is loaded once per emission, and never changes; a new list replaces it. (Linux waits between the changes of a function and of its data.)
 *
 * register and unregister return 0, or, after a warning, a negative errno of <jumplabel.h>; then nothing has changed:
 *
 *     -EEXIST   this probe is already registered with these data     -ENOENT   unregister: it is not registered
 *     -EINVAL   the probe is NULL                                    -ENOMEM   no memory (without a warning)
 *     others as those of jumplabel_enable(): the flip of the key, or of the static call, was refused
 *
 * They block while another thread flips. They may be called in a probe, but not in a signal handler, because they allocate. An emission may be
 * wherever its probes may run. With probes, it costs two atomic changes of a counter. If a probe throws an exception, the exception leaves the
 * emission, and the probes after it are not called; for that, the file with DEFINE_TRACE() must be C++, or be compiled with -fexceptions. longjmp()
 * must not leave a probe.
 *
 * The probes belong to the instance of libjumplabel that the object with DEFINE_TRACE() uses. If your object uses another one (each has a
 * libjumplabel.a), call jumplabel_trace_synchronize(NAME) to wait.
 */
#ifndef JUMPLABEL_TRACEPOINT_H
#define JUMPLABEL_TRACEPOINT_H

#include "static_call.h"

#include "usdt.h"

#define TP_PROTO(...) __VA_ARGS__
#define TP_ARGS(...) __VA_ARGS__
#define TRACEPOINT_DEFAULT_PRIO 10

/* A tracepoint. All members are the library's. */
struct tracepoint {
	struct static_key_false key;
	void *_list;
	size_t _count;
};

struct tracepoint_func {
	jumplabel_function_ _func;
	void *_data;
	int _prio;
};

/* Notes that a thread is counted as inside a tracepoint. */
struct jumplabel_inside_ {
	void *_word;
	unsigned long long _generation;
};

struct jumplabel_probes_ {
	const struct tracepoint_func *_first;
	size_t _count;
};

JUMPLABEL_C_BEGIN_

struct jumplabel_inside_ jumplabel_trace_enter_(void);
void jumplabel_trace_leave_(struct jumplabel_inside_ *_inside);
struct jumplabel_probes_ jumplabel_trace_probes_(const struct tracepoint *_tracepoint);
int jumplabel_trace_register_(struct tracepoint *_tracepoint, struct jumplabel_call_ _call, jumplabel_function_ _walk,
			      jumplabel_function_ _probe, void *_data, int _prio);
int jumplabel_trace_unregister_(struct tracepoint *_tracepoint, struct jumplabel_call_ _call, jumplabel_function_ _walk,
				jumplabel_function_ _probe, void *_data);
int jumplabel_trace_synchronize_(void);

JUMPLABEL_C_END_

/*
 * ThreadSanitizer does not see how the library orders the actions of threads, but it sees memory operations of the library. So it is told the order:
 * everything before register_trace_*() comes before the probe's calls, and these before the end of tracepoint_synchronize_unregister(). It ignores
 * the library's own accesses, and reads of the list of probes.
 */
#if defined(__has_feature)
#if __has_feature(__thread_sanitizer__)
#define JUMPLABEL_TSAN_
#endif
#elif defined(__SANITIZE_THREAD__)
#define JUMPLABEL_TSAN_
#endif
#ifdef JUMPLABEL_TSAN_
JUMPLABEL_C_BEGIN_
void __tsan_acquire(void *_address);
void __tsan_release(void *_address);
void jumplabel_tsan_reads_begin_(const char *_file, int _line) __asm__("AnnotateIgnoreReadsBegin");
void jumplabel_tsan_reads_end_(const char *_file, int _line) __asm__("AnnotateIgnoreReadsEnd");
void jumplabel_tsan_writes_begin_(const char *_file, int _line) __asm__("AnnotateIgnoreWritesBegin");
void jumplabel_tsan_writes_end_(const char *_file, int _line) __asm__("AnnotateIgnoreWritesEnd");
JUMPLABEL_C_END_
#define JUMPLABEL_TSAN_AFTER_(address) __tsan_acquire(JUMPLABEL_CAST_(void *, JUMPLABEL_CAST_(uintptr_t, address)))
#define JUMPLABEL_TSAN_BEFORE_(address) __tsan_release(JUMPLABEL_CAST_(void *, JUMPLABEL_CAST_(uintptr_t, address)))
#define JUMPLABEL_TSAN_UNSEEN_ __attribute__((__no_sanitize__("thread")))
#define JUMPLABEL_TSAN_IN_LIBRARY_()                                                                                   \
	(jumplabel_tsan_reads_begin_(__FILE__, __LINE__), jumplabel_tsan_writes_begin_(__FILE__, __LINE__))
#define JUMPLABEL_TSAN_OUT_OF_LIBRARY_()                                                                               \
	(jumplabel_tsan_reads_end_(__FILE__, __LINE__), jumplabel_tsan_writes_end_(__FILE__, __LINE__))
#else
#define JUMPLABEL_TSAN_AFTER_(address) ((void)0)
#define JUMPLABEL_TSAN_BEFORE_(address) ((void)0)
#define JUMPLABEL_TSAN_UNSEEN_
#define JUMPLABEL_TSAN_IN_LIBRARY_() ((void)0)
#define JUMPLABEL_TSAN_OUT_OF_LIBRARY_() ((void)0)
#endif

static __inline__ struct jumplabel_inside_ jumplabel_trace_begin_(void)
{
	struct jumplabel_inside_ _inside;

	JUMPLABEL_TSAN_IN_LIBRARY_();
	_inside = jumplabel_trace_enter_();
	JUMPLABEL_TSAN_OUT_OF_LIBRARY_();
	return _inside;
}

/* Runs at the end of an emission, also after an exception. */
static __inline__ void jumplabel_trace_end_(struct jumplabel_inside_ *_inside)
{
	JUMPLABEL_TSAN_BEFORE_(&jumplabel_trace_synchronize_);
	JUMPLABEL_TSAN_IN_LIBRARY_();
	jumplabel_trace_leave_(_inside);
	JUMPLABEL_TSAN_OUT_OF_LIBRARY_();
}

/* Waits until no thread is in a probe that was unregistered before. Then its data can be freed, and its code unloaded. It does not wait for emissions
   that start meanwhile. Returns 0; or, after a warning, -EDEADLK in a probe or under jump_label_lock(). */
static __inline__ int tracepoint_synchronize_unregister(void)
{
	int _result;

	JUMPLABEL_TSAN_IN_LIBRARY_();
	_result = jumplabel_trace_synchronize_();
	JUMPLABEL_TSAN_OUT_OF_LIBRARY_();
	JUMPLABEL_TSAN_AFTER_(&jumplabel_trace_synchronize_);
	return _result;
}

/* The last argument is `proto` with a probe's first parameter before it. */
#define DECLARE_TRACE(name, proto, args)										\
	JUMPLABEL_DECLARE_TRACE_(name, TP_PROTO(proto), TP_ARGS(args), TP_PROTO(void *jumplabel_data, proto))
#define DECLARE_TRACE_NOARGS(name) JUMPLABEL_DECLARE_TRACE_(name, void, , void *jumplabel_data)
#define DEFINE_TRACE(name, proto, args)											\
	JUMPLABEL_DEFINE_TRACE_(name, TP_PROTO(proto), TP_PROTO(void *jumplabel_data, proto), TP_ARGS(jumplabel_data, args))
#define DEFINE_TRACE_NOARGS(name) JUMPLABEL_DEFINE_TRACE_(name, void, void *jumplabel_data, jumplabel_data)
#define DEFINE_TRACEPOINT(name, proto, args)										\
	DECLARE_TRACE(name, TP_PROTO(proto), TP_ARGS(args));								\
	DEFINE_TRACE(name, TP_PROTO(proto), TP_ARGS(args))

/* For a header that must not name the types of the arguments: tells only whether there are probes. */
#define DECLARE_TRACEPOINT(name) JUMPLABEL_EXTERN_C_ JUMPLABEL_STRUCT_ tracepoint __tracepoint_##name
#define tracepoint_enabled(name) static_branch_unlikely(&__tracepoint_##name.key)

/* Nothing to do here: the compiler's visibility decides whether other objects see a tracepoint. */
#define EXPORT_TRACEPOINT_SYMBOL(name) JUMPLABEL_ASSERT_(1, "")
#define EXPORT_TRACEPOINT_SYMBOL_GPL(name) JUMPLABEL_ASSERT_(1, "")

/* A statement: a loop of one round and not an `if`, so that an `else` after it belongs to the user's `if`. */
#define jumplabel_trace(name)                                                                                          \
	for (bool jumplabel_on = trace_##name##_enabled(); jumplabel_on; jumplabel_on = false)                         \
	__trace_##name

#define jumplabel_trace_synchronize(name) __tracereg_##name(JUMPLABEL_SYNCHRONIZE_, JUMPLABEL_NULL_, JUMPLABEL_NULL_, 0)

enum { JUMPLABEL_UNREGISTER_, JUMPLABEL_REGISTER_, JUMPLABEL_SYNCHRONIZE_ };

#define JUMPLABEL_ALWAYS_ static __inline__ __attribute__((__always_inline__, __unused__))

#define JUMPLABEL_DECLARE_TRACE_(name, proto, args, data_proto)								\
	DECLARE_TRACEPOINT(name);											\
	JUMPLABEL_EXTERN_C_ __attribute__((__cold__, __noinline__)) void __trace_##name(proto);				\
	JUMPLABEL_EXTERN_C_ int __tracereg_##name(int _change, void (*_probe)(data_proto), void *_data, int _prio);	\
	JUMPLABEL_ALWAYS_ bool trace_##name##_enabled(void)								\
	{														\
		return tracepoint_enabled(name);									\
	}														\
	JUMPLABEL_ALWAYS_ void trace_##name(proto)									\
	{														\
		if (tracepoint_enabled(name))										\
			__trace_##name(args);										\
	}														\
	JUMPLABEL_ALWAYS_ int register_trace_prio_##name(void (*_probe)(data_proto), void *_data, int _prio)		\
	{														\
		return __tracereg_##name(JUMPLABEL_REGISTER_, _probe, _data, _prio);					\
	}														\
	JUMPLABEL_ALWAYS_ int register_trace_##name(void (*_probe)(data_proto), void *_data)				\
	{														\
		return register_trace_prio_##name(_probe, _data, TRACEPOINT_DEFAULT_PRIO);				\
	}														\
	JUMPLABEL_ALWAYS_ int unregister_trace_##name(void (*_probe)(data_proto), void *_data)				\
	{														\
		return __tracereg_##name(JUMPLABEL_UNREGISTER_, _probe, _data, 0);					\
	}														\
	JUMPLABEL_ALWAYS_ void check_trace_callback_type_##name(void (*_probe)(data_proto))				\
	{														\
		(void)_probe;												\
	}														\
	JUMPLABEL_ASSERT_(1, "")

#define JUMPLABEL_DEFINE_TRACE_(name, proto, data_proto, data_args)							\
	JUMPLABEL_TRACE_DECLARATION_(name)										\
	JUMPLABEL_EXTERN_C_ JUMPLABEL_TSAN_UNSEEN_ void __traceiter_##name(data_proto);					\
	JUMPLABEL_STRUCT_ tracepoint __tracepoint_##name = { { JUMPLABEL_KEY_INIT_FALSE_ }, JUMPLABEL_NULL_, 0 };				\
	DEFINE_STATIC_CALL(tp_func_##name, __traceiter_##name);								\
	JUMPLABEL_USDT_DEFINE_(name)											\
	void __traceiter_##name(data_proto)										\
	{														\
		JUMPLABEL_STRUCT_ jumplabel_probes_ jumplabel_probes;							\
															\
		JUMPLABEL_USDT_EMIT_(name, TP_ARGS(data_args));								\
		jumplabel_probes = jumplabel_trace_probes_(&__tracepoint_##name);						\
		JUMPLABEL_TSAN_AFTER_(&__tracepoint_##name);								\
		for (size_t jumplabel_at = 0; jumplabel_at < jumplabel_probes._count; jumplabel_at++) {			\
			jumplabel_data = jumplabel_probes._first[jumplabel_at]._data;					\
			JUMPLABEL_CAST_(void (*)(data_proto), jumplabel_probes._first[jumplabel_at]._func)(data_args);	\
		}													\
	}														\
	void __trace_##name(proto)											\
	{														\
		void *jumplabel_data = JUMPLABEL_NULL_;										\
		JUMPLABEL_STRUCT_ jumplabel_inside_ jumplabel_inside __attribute__((__cleanup__(jumplabel_trace_end_), __unused__)) =	\
			jumplabel_trace_begin_();									\
															\
		/* This thread is not counted, because there was no probe yet. So it must not call one that is added now. */	\
		if (!jumplabel_inside._word)										\
			return;												\
		JUMPLABEL_TSAN_AFTER_(&__tracepoint_##name);								\
		static_call(tp_func_##name)(data_args);									\
	}														\
	JUMPLABEL_TRACE_ONCE_ int __tracereg_##name(int _change, void (*_probe)(data_proto), void *_data, int _prio)	\
	{														\
		JUMPLABEL_STRUCT_ tracepoint *_tracepoint = &__tracepoint_##name;							\
		JUMPLABEL_STRUCT_ jumplabel_call_ _call = JUMPLABEL_CALL_(tp_func_##name)();					\
		jumplabel_function_ _walk = JUMPLABEL_CAST_(jumplabel_function_, __traceiter_##name);			\
		jumplabel_function_ _function = JUMPLABEL_CAST_(jumplabel_function_, _probe);				\
		int _result;												\
															\
		JUMPLABEL_TRACE_RECORD_(name);										\
		if (_change == JUMPLABEL_SYNCHRONIZE_)									\
			return tracepoint_synchronize_unregister();							\
		JUMPLABEL_TSAN_BEFORE_(_tracepoint);									\
		JUMPLABEL_TSAN_IN_LIBRARY_();										\
		if (_change == JUMPLABEL_REGISTER_)									\
			_result = jumplabel_trace_register_(_tracepoint, _call, _walk, _function, _data, _prio);	\
		else													\
			_result = jumplabel_trace_unregister_(_tracepoint, _call, _walk, _function, _data);		\
		JUMPLABEL_TSAN_OUT_OF_LIBRARY_();										\
		return _result;												\
	}														\
	JUMPLABEL_ASSERT_(1, "")

#ifdef JUMPLABEL_FALLBACK

#define JUMPLABEL_TRACE_ONCE_
#define JUMPLABEL_TRACE_DECLARATION_(name)
#define JUMPLABEL_TRACE_RECORD_(name) ((void)0)

#else

#define JUMPLABEL_TRACE_ONCE_ JUMPLABEL_ONCE_
#define JUMPLABEL_TRACE_DECLARATION_(name) JUMPLABEL_DECLARATION_(__tracedecl_##name, #name, JUMPLABEL_INDIRECT_ | JUMPLABEL_USDT_SHAPE_)
#define JUMPLABEL_TRACE_RECORD_(name)											\
	__asm__ __volatile__(JUMPLABEL_SLOT_ JUMPLABEL_RECORD_WITH_(JUMPLABEL_KEY_WORD_, JUMPLABEL_USDT_WORD_)		\
			     :												\
			     : [_key] JUMPLABEL_KEY_CONSTRAINT_(&__tracepoint_##name),					\
			       [_declaration] JUMPLABEL_KEY_CONSTRAINT_(&__tracedecl_##name),				\
			       JUMPLABEL_KEY_CONSTRAINT_(JUMPLABEL_OBJECT_OF_TYPED_) JUMPLABEL_USDT_DESCRIBED_(name))

#endif

#endif
