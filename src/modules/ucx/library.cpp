#include "modules/ucx/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

namespace stretto::modules {
namespace {

constexpr const char* soname = "libucp.so.0";

// Two UCX in one process would register their transports and hooks twice.
void* load() {
  if (void* there = dlopen(soname, RTLD_NOW | RTLD_NOLOAD)) return there;
  const char* given = secure_getenv("STRETTO_UCX");
  return dlopen(given && *given ? given : soname, RTLD_NOW | RTLD_LOCAL);
}

template <class F>
bool get(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

Status find(Ucp* u) {
  void* const library = load();
  if (!library) return fail(Status::unsupported, "no UCX: {}", dlerror());
  const bool whole =
      get(library, "ucp_get_version_string", &u->get_version_string) &&
      get(library, "ucp_init_version", &u->init_version) && get(library, "ucp_cleanup", &u->cleanup) &&
      get(library, "ucp_context_query", &u->context_query) && get(library, "ucp_config_read", &u->config_read) &&
      get(library, "ucp_config_modify", &u->config_modify) && get(library, "ucp_config_release", &u->config_release) &&
      get(library, "ucp_worker_create", &u->worker_create) && get(library, "ucp_worker_destroy", &u->worker_destroy) &&
      get(library, "ucp_worker_get_address", &u->worker_get_address) &&
      get(library, "ucp_worker_release_address", &u->worker_release_address) &&
      get(library, "ucp_worker_progress", &u->worker_progress) &&
      get(library, "ucp_worker_flush_nbx", &u->worker_flush_nbx) && get(library, "ucp_ep_create", &u->ep_create) &&
      get(library, "ucp_ep_close_nbx", &u->ep_close_nbx) && get(library, "ucp_tag_send_nbx", &u->tag_send_nbx) &&
      get(library, "ucp_tag_recv_nbx", &u->tag_recv_nbx) && get(library, "ucp_tag_probe_nb", &u->tag_probe_nb) &&
      get(library, "ucp_tag_msg_recv_nbx", &u->tag_msg_recv_nbx) &&
      get(library, "ucp_tag_recv_request_test", &u->tag_recv_request_test) &&
      get(library, "ucp_request_cancel", &u->request_cancel) &&
      get(library, "ucp_request_check_status", &u->request_check_status) &&
      get(library, "ucp_request_free", &u->request_free) && get(library, "ucs_status_string", &u->status_string);
  if (!whole) return fail(Status::unsupported, "the UCX of this process lacks a function: {}", dlerror());
  Dl_info file;
  if (dladdr(reinterpret_cast<const void*>(u->init_version), &file) != 0 && file.dli_fname) u->where = file.dli_fname;
  return Status::ok;
}

}  // namespace

Status find_ucp(const Ucp** ucp) noexcept {
  static std::mutex mutex;
  static Ucp found;
  static bool there = false;
  try {
    const std::lock_guard lock(mutex);
    if (!there) {
      if (const Status s = find(&found); s != Status::ok) return s;
      there = true;
    }
    *ucp = &found;
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to load UCX"));
  }
}

}  // namespace stretto::modules
