#include "hdf5.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace stretto::hdf5 {
namespace {

// For a program that hides its HDF5. A damaged file has many chunks, so the lines are limited.
void print(const char* message) noexcept {
  constexpr int most = 8;
  static std::atomic<int> printed{0};
  if (printed.fetch_add(1, std::memory_order_relaxed) < most) std::fprintf(stderr, "stretto's filter: %s\n", message);
}

}  // namespace

Library::Library(const void* caller) noexcept {
  Dl_info info;
  if (dladdr(caller, &info) != 0 && info.dli_fname) handle_ = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle_) handle_ = dlopen(nullptr, RTLD_LAZY);  // HDF5 is in the program itself
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

void* Library::find(const char* name) const noexcept { return handle_ ? dlsym(handle_, name) : nullptr; }

void* Library::allocate(std::size_t bytes) const noexcept {
  const auto of_hdf5 = symbol<void* (*)(std::size_t, bool)>("H5allocate_memory");
  return of_hdf5 ? of_hdf5(bytes, false) : std::malloc(bytes);
}

void Library::free(void* memory) const noexcept {
  const auto of_hdf5 = symbol<int (*)(void*)>("H5free_memory");
  if (of_hdf5)
    of_hdf5(memory);
  else
    std::free(memory);
}

void Library::error(const char* message) const noexcept {
  using Push = int (*)(Id, const char*, const char*, unsigned, Id, Id, Id, const char*, ...);
  const auto push = symbol<Push>("H5Epush2");
  const auto library = symbol<const Id*>("H5E_ERR_CLS_g"), pipeline = symbol<const Id*>("H5E_PLINE_g"),
             filter = symbol<const Id*>("H5E_CANTFILTER_g");
  if (push && library && pipeline && filter)
    push(0, "stretto", "filter", 0, *library, *pipeline, *filter, "%s", message);
  else
    print(message);
}

}  // namespace stretto::hdf5
