#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "base/guarded.hpp"
#include "base/status.hpp"

namespace stretto::modules {

class SharedLibrary {
 public:
  // The process' copy, since two would register resources twice; else the file in `variable`, else the system's. Stays
  // loaded.
  SharedLibrary(const char* soname, const char* variable) noexcept : handle_(dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) {
    if (handle_) return;
    const char* given = secure_getenv(variable);
    handle_ = dlopen(given && *given ? given : soname, RTLD_NOW | RTLD_LOCAL);
  }

  explicit operator bool() const noexcept { return handle_ != nullptr; }

  template <class F>
  void get(const char* name, F* function) noexcept {
    *function = reinterpret_cast<F>(dlsym(handle_, name));
    if (!*function && !missing_) missing_ = name;
  }

  const char* missing() const noexcept { return missing_; }

  // "" if unknown.
  template <class F>
  static std::string file_of(F function) {
    Dl_info file;
    const bool known = function && dladdr(reinterpret_cast<const void*>(function), &file) != 0 && file.dli_fname;
    return known ? file.dli_fname : "";
  }

 private:
  void* handle_;
  const char* missing_ = nullptr;
};

// Once per process; repeated after a failure.
template <class Table>
Status find_once(Status (*find)(Table*), const Table** table) noexcept {
  static std::mutex mutex;
  static Table found;
  static bool there = false;
  return guarded("to load a library", [&] {
    const std::lock_guard lock(mutex);
    if (!there) {
      if (const Status s = find(&found); s != Status::ok) return s;
      there = true;
    }
    *table = &found;
    return Status::ok;
  });
}

}  // namespace stretto::modules
