#include <cstdlib>

#include "base/status.hpp"
#include "call/enums.hpp"
#include "node/arena/arena.hpp"
#include "stretto/stretto.h"

namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

extern "C" {

stretto_status stretto_alloc(size_t bytes, void** buffer) {
  using namespace stretto;  // NOLINT: a short function
  if (buffer == nullptr) return call::to_c(fail(Status::invalid_argument, "buffer is NULL"));
  *buffer = nullptr;
  const std::size_t wanted = bytes > 0 ? bytes : 1;
  void* found = node::arena::allocate(wanted, kAlignment);
  if (found == nullptr && posix_memalign(&found, kAlignment, wanted) != 0)
    return call::to_c(fail(Status::out_of_memory, "no memory for a buffer of {} bytes", bytes));
  *buffer = found;
  return STRETTO_OK;
}

stretto_status stretto_free(void* buffer) {
  if (stretto::node::arena::owns(buffer))
    stretto::node::arena::release(buffer);
  else
    std::free(buffer);
  return STRETTO_OK;
}
}
