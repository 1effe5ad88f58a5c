/* Functions that glibc 2.28 has not, for what is linked against the stubs of stubs.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Since 2.32 tells that a process has one thread only, so that counters need no atomic instruction. */
char __libc_single_threaded = 0;

/* Since 2.33; inline before. */
int stat(const char* restrict path, struct stat* restrict result) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, result, 0);
}
int lstat(const char* restrict path, struct stat* restrict result) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat* result) { return (int)syscall(SYS_fstat, file, result); }
int fstatat(int directory, const char* restrict path, struct stat* restrict result, int flags) {
  return (int)syscall(SYS_newfstatat, directory, path, result, flags);
}

/* Since 2.30. An older glibc waits by the condition's own clock, the real time: where that was set forward, it woke
 * early. */
static int (*clockwait_here)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
static void find_clockwait(void) { *(void**)&clockwait_here = dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"); }

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  static pthread_once_t found = PTHREAD_ONCE_INIT;
  pthread_once(&found, find_clockwait);
  if (clockwait_here) return clockwait_here(condition, mutex, clock, until);
  struct timespec now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += until->tv_sec - now.tv_sec;
  real.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) --real.tv_sec, real.tv_nsec += 1000000000;
  if (real.tv_nsec >= 1000000000) ++real.tv_sec, real.tv_nsec -= 1000000000;
  const int status = pthread_cond_timedwait(condition, mutex, &real);
  if (status != ETIMEDOUT) return status;
  clock_gettime(clock, &now);
  return now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec) ? ETIMEDOUT : 0;
}

/* Since 2.38, by which its headers replace the functions of the same names without the prefix; they also take binary
 * numbers (0b101), which nothing here reads. The labels reach these functions past the headers. */
#define NUMBER_FROM_TEXT(type, name)                            \
  type plain_##name(const char*, char**, int) __asm__(#name);   \
  type __isoc23_##name(const char* text, char** end, int base); \
  type __isoc23_##name(const char* text, char** end, int base) { return plain_##name(text, end, base); }
NUMBER_FROM_TEXT(long, strtol)
NUMBER_FROM_TEXT(unsigned long, strtoul)
NUMBER_FROM_TEXT(long long, strtoll)
NUMBER_FROM_TEXT(unsigned long long, strtoull)

#define VALUES_FROM(name, from)                                               \
  int plain_v##name(from*, const char*, va_list) __asm__("__isoc99_v" #name); \
  int __isoc23_##name(from* where, const char* format, ...);                  \
  int __isoc23_##name(from* where, const char* format, ...) {                 \
    va_list values;                                                           \
    va_start(values, format);                                                 \
    const int count = plain_v##name(where, format, values);                   \
    va_end(values);                                                           \
    return count;                                                             \
  }
VALUES_FROM(sscanf, const char)
VALUES_FROM(fscanf, FILE)
