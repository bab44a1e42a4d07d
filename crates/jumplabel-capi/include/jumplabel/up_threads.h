/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads in UP mode (<jumplabel/lock_prefix.h>): include this in exactly one file of the program, never of a library. Its constructor
 * takes the lock prefixes out, if there is one thread. It defines pthread_create() and thrd_create(), which put them in and then call those
 * of the C library. The linker lets shared libraries find the program's definitions first, so that their threads, std::thread and those of
 * Rust are caught, too. If the linker leaves this file out (nobody needs it of an archive), atomics lock as ever.
 *
 * Not caught, so that jumplabel_up_leave() has to come before them: a raw clone(), threads that the C library starts itself
 * (timer_create() with SIGEV_THREAD, aio, getaddrinfo_a(), mq_notify()), and libraries that find the C library's pthread_create() first: that
 * ask dlsym() for it, or are loaded by dlmopen() or with RTLD_DEEPBIND.
 *
 * If the prefixes cannot be put in, no thread starts: pthread_create() returns the error of jumplabel_up_leave() without its sign,
 * thrd_create() thrd_error. If they cannot be taken out, they stay in.
 *
 * For programs that are linked dynamically; _GNU_SOURCE must be defined. Elsewhere than on x86 there is nothing to be taken out.
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

/* Behind the constructors of objects, which register them. Refused beside a thread that another constructor has started. */
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

/* <threads.h> is not there everywhere, and is not for C++. pthread_t and thrd_t are one type. */
__attribute__((__visibility__("default"))) int thrd_create(pthread_t *_thread, int (*_function)(void *), void *_argument);
__attribute__((__visibility__("default"))) int thrd_create(pthread_t *_thread, int (*_function)(void *), void *_argument)
{
	int (*_next)(pthread_t *, int (*)(void *), void *);
	void *_found = dlsym(RTLD_NEXT, "thrd_create");

	if (jumplabel_up_leave() || !_found)
		return 2; /* thrd_error: of glibc and of musl */
	__builtin_memcpy(&_next, &_found, sizeof(_next));
	return _next(_thread, _function, _argument);
}

JUMPLABEL_C_END_

#endif
