/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Declares what optional.c and its header use of MSVC's C library, in place of all its headers, so that clang can compile the branches for MSVC. */
#ifndef MSVC_H
#define MSVC_H
#include <stddef.h>
typedef struct file FILE;
#ifdef __cplusplus
extern "C" {
#endif
extern FILE *stdout, *stderr;
int printf(const char *, ...); int fprintf(FILE *, const char *, ...); int sprintf(char *, const char *, ...); int fflush(FILE *); int fclose(FILE *);
FILE *fopen(const char *, const char *); char *fgets(char *, int, FILE *); int fputs(const char *, FILE *);
size_t strlen(const char *); void *memcpy(void *, const void *, size_t); void *memset(void *, int, size_t); int memcmp(const void *, const void *, size_t);
int strcmp(const char *, const char *); char *strcat(char *, const char *); char *strcpy(char *, const char *); char *strerror(int); size_t strspn(const char *, const char *);
size_t strcspn(const char *, const char *); char *strstr(const char *, const char *);
void *malloc(size_t); void free(void *); char *getenv(const char *); unsigned long strtoul(const char *, char **, int); void exit(int); void _exit(int);
int *_errno(void);
long _InterlockedCompareExchange(volatile long *, long, long); void *_InterlockedCompareExchangePointer(void *volatile *, void *, void *);
void *_InterlockedExchangePointer(void *volatile *, void *);
#ifdef __cplusplus
}
#endif
#define errno (*_errno())
enum { EINVAL = 22, EBUSY = 16, ERANGE = 34, EOVERFLOW = 132, EROFS = 30, ENOMEM = 12 };

#endif
