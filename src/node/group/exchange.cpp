#include "node/group/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace stretto::node {
namespace {

// Waits for a send and a receive.
Status both(carrier::Carrier& carrier, double limit) noexcept {
  for (int left = 2; left > 0;) {
    std::array<carrier::Completion, 2> done;
    std::size_t n = 0;
    if (const Status s = carrier.wait_any(done, &n, limit); s != Status::ok) return s;
    if (n == 0) return fail(Status::timeout, "ranks of this node did not meet within {} s", limit);
    for (std::size_t i = 0; i < n; ++i) {
      if (done[i].status != Status::ok) return done[i].status;
    }
    left -= static_cast<int>(n);
  }
  return Status::ok;
}

}  // namespace

// Bruck's: after round k a rank holds the blocks of 2^k ranks, its own first.
Status CarrierExchange::allgather(const void* mine, std::size_t bytes, void* all) noexcept {
  const auto p = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  std::vector<std::byte> blocks;
  try {
    blocks.resize(p * bytes);
  } catch (const std::bad_alloc&) {
    return fail(Status::out_of_memory, "no memory for {} blocks of {} bytes", p, bytes);
  }
  std::memcpy(blocks.data(), mine, bytes);
  for (std::size_t held = 1; held < p; held *= 2, ++tag_) {
    const std::size_t more = std::min(held, p - held);
    const int to = static_cast<int>((me + p - held) % p), from = static_cast<int>((me + held) % p);
    if (const Status s = carrier_.start_recv(from, tag_, blocks.data() + held * bytes, more * bytes, 0);
        s != Status::ok)
      return s;
    if (const Status s = carrier_.start_send(to, tag_, blocks.data(), more * bytes, 1); s != Status::ok) return s;
    if (const Status s = both(carrier_, limit_); s != Status::ok) return s;
  }
  for (std::size_t i = 0; i < p; ++i)
    std::memcpy(static_cast<std::byte*>(all) + (me + i) % p * bytes, blocks.data() + i * bytes, bytes);
  return Status::ok;
}

}  // namespace stretto::node
