#include "modules/ucx/library.hpp"

#include <dlfcn.h>

#include "modules/shared_library.hpp"

namespace stretto::modules {
namespace {

Status find(Ucp* u) {
  SharedLibrary s("libucp.so.0", "STRETTO_UCX");
  if (!s) return fail(Status::unsupported, "no UCX: {}", dlerror());
  s.get("ucp_get_version_string", &u->get_version_string);
  s.get("ucp_init_version", &u->init_version);
  s.get("ucp_cleanup", &u->cleanup);
  s.get("ucp_context_query", &u->context_query);
  s.get("ucp_config_read", &u->config_read);
  s.get("ucp_config_modify", &u->config_modify);
  s.get("ucp_config_release", &u->config_release);
  s.get("ucp_worker_create", &u->worker_create);
  s.get("ucp_worker_destroy", &u->worker_destroy);
  s.get("ucp_worker_get_address", &u->worker_get_address);
  s.get("ucp_worker_release_address", &u->worker_release_address);
  s.get("ucp_worker_progress", &u->worker_progress);
  s.get("ucp_worker_get_efd", &u->worker_get_efd);
  s.get("ucp_worker_arm", &u->worker_arm);
  s.get("ucp_worker_set_am_recv_handler", &u->worker_set_am_recv_handler);
  s.get("ucp_ep_create", &u->ep_create);
  s.get("ucp_ep_close_nbx", &u->ep_close_nbx);
  s.get("ucp_am_send_nbx", &u->am_send_nbx);
  s.get("ucp_tag_send_nbx", &u->tag_send_nbx);
  s.get("ucp_tag_recv_nbx", &u->tag_recv_nbx);
  s.get("ucp_tag_probe_nb", &u->tag_probe_nb);
  s.get("ucp_tag_msg_recv_nbx", &u->tag_msg_recv_nbx);
  s.get("ucp_tag_recv_request_test", &u->tag_recv_request_test);
  s.get("ucp_request_cancel", &u->request_cancel);
  s.get("ucp_request_check_status", &u->request_check_status);
  s.get("ucp_request_free", &u->request_free);
  s.get("ucs_status_string", &u->status_string);
  if (s.missing()) return fail(Status::unsupported, "the UCX of this process has no {}", s.missing());
  u->where = SharedLibrary::file_of(u->init_version);
  return Status::ok;
}

}  // namespace

Status find_ucp(const Ucp** ucp) noexcept { return find_once(find, ucp); }

}  // namespace stretto::modules
