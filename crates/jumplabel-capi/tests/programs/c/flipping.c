/* Part of a program under test. If the variable FLIPPED names a file, this flips all keys of the program there and back, 50 times a second, from
   before main to the end of the process, and counts in that file. A key that starts off gets one user more, and loses it again; a key that starts on
   the other way round. So keys that the program itself has turned on stay on. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "jumplabel-optional.h"

struct flipped { uint64_t processes, keys, sites, changes, refused; };
static struct flipped *flipped;

enum { MOST = 1024 };
struct round { int at, is_back; unsigned char starts_on[MOST]; };

static void flip_see(const struct jumplabel_key_info *info, void *data)
{
	struct round *round = (struct round *)data;
	if (round->at < MOST)
		round->starts_on[round->at++] = static_key_enabled(info->key);
	__atomic_add_fetch(&flipped->sites, info->sites, __ATOMIC_RELAXED);
}

static void flip_one(const struct jumplabel_key_info *info, void *data)
{
	struct round *round = (struct round *)data;
	if (round->at >= MOST)
		return;
	if ((round->starts_on[round->at++] ^ round->is_back ? jumplabel_dec(info->key) : jumplabel_inc(info->key)) == 0)
		__atomic_add_fetch(&flipped->changes, 1, __ATOMIC_RELAXED);
	else
		__atomic_add_fetch(&flipped->refused, 1, __ATOMIC_RELAXED);
}

static void *flip_all(void *data)
{
	struct round *round = (struct round *)data;
	struct timespec pause = { 0, 10 * 1000 * 1000 };
	for (;; round->is_back ^= 1) {
		round->at = 0;
		jumplabel_for_each_key(flip_one, round);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

__attribute__((__constructor__(1000))) static void flip_begin(void)
{
	static struct round round;
	const char *path = getenv("FLIPPED");
	int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	sigset_t all, before;
	pthread_t thread;
	void *mapped;
	if (file < 0)
		return;
	mapped = mmap(NULL, sizeof(*flipped), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (mapped == MAP_FAILED)
		return;
	flipped = (struct flipped *)mapped;
	__atomic_add_fetch(&flipped->keys, (uint64_t)jumplabel_for_each_key(flip_see, &round), __ATOMIC_RELAXED);
	/* The new thread must not handle the program's signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, flip_all, &round) == 0)
		__atomic_add_fetch(&flipped->processes, 1, __ATOMIC_RELAXED);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
