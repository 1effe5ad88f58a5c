// Loads a library, as Python does, and calls its sum_of_ranks(). Exit status 1 if it cannot, or that fails.
#include <dlfcn.h>

#include <cstdio>

int main() {
  void* const library = dlopen(EXTENSION, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const char* why = "";
  const int failed = reinterpret_cast<int (*)(const char**)>(dlsym(library, "sum_of_ranks"))(&why);
  if (failed) std::fprintf(stderr, "%s\n", why);
  return failed;
}
