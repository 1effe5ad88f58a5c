/* What the static hwloc asks for. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

/* It is compiled for programs, in whose own memory the linker places copies of libc's data. A shared library has no
 * such copies but these, by which StrettoDependencies.cmake replaces the names. */
FILE *stretto_stderr, *stretto_stdout;
char* stretto_program_invocation_name;

__attribute__((constructor)) static void copy_data(void) {
  stretto_stderr = stderr;
  stretto_stdout = stdout;
  stretto_program_invocation_name = program_invocation_name;
}

/* Names and serial numbers of disks, which it leaves out where there is no libudev. */
void* udev_new(void) { return NULL; }
void* udev_unref(void* context) { return context; }
void* udev_device_new_from_subsystem_sysname(void* context, const char* subsystem, const char* name) {
  return (void)context, (void)subsystem, (void)name, NULL;
}
const char* udev_device_get_property_value(void* device, const char* key) { return (void)device, (void)key, NULL; }
void* udev_device_unref(void* device) { return (void)device, NULL; }
