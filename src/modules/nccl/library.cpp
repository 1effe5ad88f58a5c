#include "modules/nccl/library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <mutex>

namespace stretto::modules::nccl {
namespace {

constexpr const char* soname = "libnccl.so.2";
constexpr int oldest = 21400, next_major = 30000;

// Two NCCL in one process would each take memory and threads. PyTorch, say, has loaded its own.
void* load() {
  if (void* there = dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) return there;
  const char* given = secure_getenv("STRETTO_NCCL");
  return dlopen(given && *given ? given : soname, RTLD_NOW | RTLD_LOCAL);
}

struct Symbols {
  void* library;
  const char* missing = nullptr;

  template <class F>
  void get(const char* name, F* function) {
    *function = reinterpret_cast<F>(dlsym(library, name));
    if (!*function && !missing) missing = name;
  }
};

Status find(Library* n) {
  Symbols s{load()};
  if (!s.library) return fail(Status::unsupported, "no NCCL: {}", dlerror());
  s.get("ncclGetVersion", &n->get_version);
  s.get("ncclGetUniqueId", &n->get_unique_id);
  s.get("ncclCommInitRankConfig", &n->comm_init_rank_config);
  s.get("ncclCommFinalize", &n->comm_finalize);
  s.get("ncclCommDestroy", &n->comm_destroy);
  s.get("ncclCommAbort", &n->comm_abort);
  s.get("ncclCommGetAsyncError", &n->comm_get_async_error);
  s.get("ncclGetErrorString", &n->get_error_string);
  s.get("ncclGetLastError", &n->get_last_error);
  s.get("ncclGroupStart", &n->group_start);
  s.get("ncclGroupEnd", &n->group_end);
  s.get("ncclSend", &n->send);
  s.get("ncclRecv", &n->recv);
  s.get("ncclAllReduce", &n->all_reduce);
  s.get("ncclReduce", &n->reduce);
  s.get("ncclReduceScatter", &n->reduce_scatter);
  s.get("ncclAllGather", &n->all_gather);
  s.get("ncclBroadcast", &n->broadcast);
  Dl_info file;
  if (n->get_version && dladdr(reinterpret_cast<const void*>(n->get_version), &file) != 0 && file.dli_fname)
    n->where = file.dli_fname;
  if (n->get_version && n->get_version(&n->version) != Result::success)
    return fail(Status::unsupported, "{} does not tell its version", n->where);
  if (n->version >= next_major || (n->version != 0 && n->version < oldest))
    return fail(Status::unsupported, "{} is NCCL of version {}, and versions from {} to below {} are known", n->where,
                n->version, oldest, next_major);
  if (s.missing) return fail(Status::unsupported, "the NCCL of {} has no {}", n->where, s.missing);
  n->name = fmt::format("NCCL {}.{}.{}", n->version / 10000, n->version / 100 % 100, n->version % 100);
  return Status::ok;
}

}  // namespace

Status find_library(const Library** library) noexcept {
  static std::mutex mutex;
  static Library found;
  static bool there = false;
  try {
    const std::lock_guard lock(mutex);
    if (!there) {
      if (const Status s = find(&found); s != Status::ok) return s;
      there = true;
    }
    *library = &found;
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to load NCCL"));
  }
}

}  // namespace stretto::modules::nccl
