#include "modules/nccl/library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include "modules/shared_library.hpp"

namespace stretto::modules::nccl {
namespace {

constexpr int kOldest = 21400, kNextMajor = 30000;

Status find(Library* n) {
  SharedLibrary s("libnccl.so.2", "STRETTO_NCCL");
  if (!s) return fail(Status::unsupported, "no NCCL: {}", dlerror());
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
  n->where = SharedLibrary::file_of(n->get_version);
  if (n->get_version && n->get_version(&n->version) != Result::success)
    return fail(Status::unsupported, "{} does not tell its version", n->where);
  if (n->version >= kNextMajor || (n->version != 0 && n->version < kOldest))
    return fail(Status::unsupported, "{} is NCCL of version {}, and versions from {} to below {} are known", n->where,
                n->version, kOldest, kNextMajor);
  if (s.missing()) return fail(Status::unsupported, "the NCCL of {} has no {}", n->where, s.missing());
  n->name = fmt::format("NCCL {}.{}.{}", n->version / 10000, n->version / 100 % 100, n->version % 100);
  return Status::ok;
}

}  // namespace

Status find_library(const Library** library) noexcept { return find_once(find, library); }

}  // namespace stretto::modules::nccl
