/* Until glibc 2.33 a program gave __libc_start_main a function that calls its constructors. The crt1.o of later ones
 * gives none: the linker's
 * --wrap leads its call here. */
typedef void initializer(int, char**, char**);
extern initializer *__init_array_start[], *__init_array_end[];
void _init(void);
int __real___libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, initializer* init,
                             void (*fini)(void), void (*loader_fini)(void), void* stack_end);

static void initialize(int argc, char** argv, char** environment) {
  _init();
  for (initializer** each = __init_array_start; each != __init_array_end; ++each) (*each)(argc, argv, environment);
}

int __wrap___libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, initializer* init,
                             void (*fini)(void), void (*loader_fini)(void), void* stack_end) {
  return __real___libc_start_main(main, argc, argv, init ? init : initialize, fini, loader_fini, stack_end);
}
