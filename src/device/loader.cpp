#include "device/loader.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/guarded.hpp"

namespace stretto::device {
namespace {

std::atomic<bool> loaded{false};

constexpr const char* kLibrary = "libstretto_cuda.so";

struct PluginSearch {
  const Plugin* plugin = nullptr;
  std::string problem;
};

std::string own_directory() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&own_directory), &info) || !info.dli_fname) return {};
  const std::string file = info.dli_fname;
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

std::vector<std::string> places() {
  if (const char* wanted = secure_getenv("STRETTO_CUDA_PLUGIN"); wanted && *wanted) return {wanted};
  std::vector<std::string> all;
  if (const std::string own = own_directory(); !own.empty()) all.push_back(own + kLibrary);
  all.emplace_back(kLibrary);
  return all;
}

PluginSearch search() {
  PluginSearch f;
  for (const std::string& place : places()) {
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = dlerror();
      f.problem += (f.problem.empty() ? "no CUDA plugin: " : "; ") + std::string(why ? why : place.c_str());
      continue;
    }
    const auto table = reinterpret_cast<const Plugin* (*)()>(dlsym(library, kPluginSymbol));
    if (!table) {
      f.problem = place + " is no plugin of stretto: it has no " + kPluginSymbol;
      return f;
    }
    const Plugin* p = table();
    if (p->version != kPluginVersion) {
      f.problem =
          place + " is a plugin of version " + std::to_string(p->version) + ", not " + std::to_string(kPluginVersion);
      return f;
    }
    int devices = 0;
    if (const int e = p->device_count(&devices); e || devices == 0) {
      f.problem = "no CUDA device: " + std::string(e ? p->error_text(e) : "there are none") + " (plugin " + place + ")";
      return f;
    }
    f.plugin = p;
    f.problem.clear();
    loaded = true;
    return f;
  }
  return f;
}

}  // namespace

Status find_plugin(const Plugin** plugin) noexcept {
  *plugin = nullptr;
  return guarded("to look for the CUDA plugin", [&] {
    static const PluginSearch found = search();
    if (!found.plugin) return fail(Status::unsupported, found.problem);
    *plugin = found.plugin;
    return Status::ok;
  });
}

bool may_be_addressed() noexcept {
  if (loaded) return true;
  const Plugin* plugin = nullptr;
  return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) && find_plugin(&plugin) == Status::ok;
}

}  // namespace stretto::device
