#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "base/status.hpp"

namespace stretto::modules {

struct Ucp {
  decltype(&ucp_get_version_string) get_version_string;
  decltype(&ucp_init_version) init_version;
  decltype(&ucp_cleanup) cleanup;
  decltype(&ucp_context_query) context_query;
  decltype(&ucp_config_read) config_read;
  decltype(&ucp_config_modify) config_modify;
  decltype(&ucp_config_release) config_release;
  decltype(&ucp_worker_create) worker_create;
  decltype(&ucp_worker_destroy) worker_destroy;
  decltype(&ucp_worker_get_address) worker_get_address;
  decltype(&ucp_worker_release_address) worker_release_address;
  decltype(&ucp_worker_progress) worker_progress;
  decltype(&ucp_worker_get_efd) worker_get_efd;
  decltype(&ucp_worker_arm) worker_arm;
  decltype(&ucp_worker_set_am_recv_handler) worker_set_am_recv_handler;
  decltype(&ucp_ep_create) ep_create;
  decltype(&ucp_ep_close_nbx) ep_close_nbx;
  decltype(&ucp_am_send_nbx) am_send_nbx;
  decltype(&ucp_tag_send_nbx) tag_send_nbx;
  decltype(&ucp_tag_recv_nbx) tag_recv_nbx;
  decltype(&ucp_tag_probe_nb) tag_probe_nb;
  decltype(&ucp_tag_msg_recv_nbx) tag_msg_recv_nbx;
  decltype(&ucp_tag_recv_request_test) tag_recv_request_test;
  decltype(&ucp_request_cancel) request_cancel;
  decltype(&ucp_request_check_status) request_check_status;
  decltype(&ucp_request_free) request_free;
  decltype(&ucs_status_string) status_string;
  std::string where;
};

// The process' copy, else STRETTO_UCX's file, else libucp.so.0. unsupported: missing, or incomplete.
Status find_ucp(const Ucp** ucp) noexcept;

}  // namespace stretto::modules
