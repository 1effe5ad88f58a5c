// A stand-in for a UCX with CUDA transports: a library linked to the real one, which it gives the host's addresses of
// emulated memory. The real library provides all other functions.
#include <dlfcn.h>
#include <ucp/api/ucp.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "emulated.hpp"

namespace {

using namespace stretto;

template <class F>
F real(const char* name) {
  static void* const library = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F>(dlsym(library, name));
}

const device::Emulation& emulation() {
  static const auto* const found = reinterpret_cast<const device::Emulation* (*)()>(
      dlsym(dlopen(std::getenv("STRETTO_CUDA_PLUGIN"), RTLD_NOW | RTLD_NOLOAD), device::kEmulationSymbol))();
  return *found;
}

std::mutex mutex;
std::map<void*, std::size_t> loans;  // by request

template <class Post>
ucs_status_ptr_t lend(const void* p, std::size_t bytes, bool writes, const ucp_request_param_t* how, Post post) {
  void* at = const_cast<void*>(p);
  if ((how->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) == 0 || how->memory_type != UCS_MEMORY_TYPE_CUDA)
    return post(at, how);
  ucp_request_param_t host = *how;
  host.memory_type = UCS_MEMORY_TYPE_HOST;
  const std::size_t loan = emulation().lend(at, bytes, writes, &at);
  const ucs_status_ptr_t answer = post(at, &host);
  const std::lock_guard lock(mutex);
  if (UCS_PTR_IS_PTR(answer))
    loans[answer] = loan;
  else
    emulation().give_back(loan);
  return answer;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t* attributes) {
  const ucs_status_t s = real<decltype(&ucp_context_query)>("ucp_context_query")(context, attributes);
  attributes->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
  return s;
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h to, const void* p, size_t n, ucp_tag_t tag, const ucp_request_param_t* how) {
  static const auto post = real<decltype(&ucp_tag_send_nbx)>("ucp_tag_send_nbx");
  return lend(p, n, false, how, [&](void* at, const ucp_request_param_t* h) { return post(to, at, n, tag, h); });
}

ucs_status_ptr_t ucp_tag_recv_nbx(ucp_worker_h worker, void* p, size_t n, ucp_tag_t tag, ucp_tag_t mask,
                                  const ucp_request_param_t* how) {
  static const auto post = real<decltype(&ucp_tag_recv_nbx)>("ucp_tag_recv_nbx");
  return lend(p, n, true, how,
              [&](void* at, const ucp_request_param_t* h) { return post(worker, at, n, tag, mask, h); });
}

void ucp_request_free(void* request) {
  static const auto free = real<decltype(&ucp_request_free)>("ucp_request_free");
  {
    const std::lock_guard lock(mutex);
    const auto at = loans.find(request);
    if (at != loans.end()) {
      emulation().give_back(at->second);
      loans.erase(at);
    }
  }
  free(request);
}

}  // extern "C"
#pragma GCC visibility pop
