/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads in UP mode (<jumplabel/lock_prefix.h>). Include this in exactly one file of the program, never in a library. Its constructor removes the
 * lock prefixes, if there is only one thread. It defines pthread_create() and thrd_create(), which put the prefixes back, and then call the C
 * library's functions. Shared libraries also use the program's definitions, so this catches their threads, std::thread, and Rust's threads. If the
 * linker leaves this file out of an archive, because nothing refers to it, atomics keep their locks.
 *
 * Call jumplabel_up_leave() yourself before threads that this does not catch: a raw clone(); threads that the C library starts itself (timer_create()
 * with SIGEV_THREAD, aio, getaddrinfo_a(), mq_notify()); and threads of libraries that find the C library's pthread_create() first, because they ask
 * dlsym() for it, or are loaded by dlmopen() or with RTLD_DEEPBIND.
 *
 * If the prefixes cannot be put back, no thread starts: pthread_create() returns the error of jumplabel_up_leave() without its sign, and
 * thrd_create() returns thrd_error. If they cannot be removed, they stay.
 *
 * For programs that are linked dynamically. _GNU_SOURCE must be defined. On processors other than x86, there are no prefixes to remove.
 */
#ifndef JUMPLABEL_UP_THREADS_H
#define JUMPLABEL_UP_THREADS_H

#include "lock_prefix.h"

#pragma GCC visibility push(default)
#include <dlfcn.h>
#include <pthread.h>
#pragma GCC visibility pop
#ifndef RTLD_NEXT
#error "define _GNU_SOURCE before the first #include"
#endif

JUMPLABEL_C_BEGIN_

/* Runs after the constructors that register objects. It fails if another constructor has started a thread. */
__attribute__((__constructor__)) static void jumplabel_up_start_(void)
{
	(void)jumplabel_up_enter();
}

__attribute__((__visibility__("default"))) int pthread_create(pthread_t *_thread, const pthread_attr_t *_attributes,
							   void *(*_function)(void *), void *_argument)
{
	int (*_next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *_found = dlsym(RTLD_NEXT, "pthread_create");
	int _error = jumplabel_up_leave();

	if (_error || !_found)
		return _error ? -_error : 38 /* ENOSYS */;
	__builtin_memcpy(&_next, &_found, sizeof(_next));
	return _next(_thread, _attributes, _function, _argument);
}

/* Declared here, because <threads.h> does not exist everywhere, and is not for C++. pthread_t and thrd_t are the same type. */
__attribute__((__visibility__("default"))) int thrd_create(pthread_t *_thread, int (*_function)(void *), void *_argument);
__attribute__((__visibility__("default"))) int thrd_create(pthread_t *_thread, int (*_function)(void *), void *_argument)
{
	int (*_next)(pthread_t *, int (*)(void *), void *);
	void *_found = dlsym(RTLD_NEXT, "thrd_create");

	if (jumplabel_up_leave() || !_found)
		return 2; /* the value of thrd_error in glibc and musl */
	__builtin_memcpy(&_next, &_found, sizeof(_next));
	return _next(_thread, _function, _argument);
}

JUMPLABEL_C_END_

#endif
