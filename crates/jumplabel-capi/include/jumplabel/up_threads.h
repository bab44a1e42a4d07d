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

#include <dlfcn.h>
#include <pthread.h>
#ifndef RTLD_NEXT
#error "define _GNU_SOURCE before the first #include"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Behind the constructors of objects, which register them. Refused beside a thread that another constructor has started. */
__attribute__((constructor)) static void jumplabel_up_start_(void)
{
	(void)jumplabel_up_enter();
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
							   void *(*start)(void *), void *argument)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *found = dlsym(RTLD_NEXT, "pthread_create");
	int error = jumplabel_up_leave();

	if (error || !found)
		return error ? -error : 38 /* ENOSYS */;
	__builtin_memcpy(&next, &found, sizeof(next));
	return next(thread, attributes, start, argument);
}

/* <threads.h> is not there everywhere, and is not for C++. pthread_t and thrd_t are one type. */
__attribute__((visibility("default"))) int thrd_create(pthread_t *thread, int (*start)(void *), void *argument);
__attribute__((visibility("default"))) int thrd_create(pthread_t *thread, int (*start)(void *), void *argument)
{
	int (*next)(pthread_t *, int (*)(void *), void *);
	void *found = dlsym(RTLD_NEXT, "thrd_create");

	if (jumplabel_up_leave() || !found)
		return 2; /* thrd_error: of glibc and of musl */
	__builtin_memcpy(&next, &found, sizeof(next));
	return next(thread, start, argument);
}

#ifdef __cplusplus
}
#endif

#endif
