/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that starts threads, and does not know jumplabel. */
#include <pthread.h>

#ifdef __cplusplus
extern "C"
#endif
int run_threads(int threads, void *(*body)(void *), void *argument);

int run_threads(int threads, void *(*body)(void *), void *argument)
{
	pthread_t started[16];
	int error = 0, count = 0;

	while (count < threads && !(error = pthread_create(&started[count], 0, body, argument)))
		count++;
	while (count > 0)
		pthread_join(started[--count], 0);
	return error;
}
