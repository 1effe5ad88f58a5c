#include "node/group/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/guarded.hpp"

namespace stretto::node {

Status CarrierExchange::round(int to, int from, const std::byte* sent, std::size_t bytes, std::byte* received,
                              std::size_t more) noexcept {
  const std::uint64_t receive = id_++, send = id_++;
  Status s = carrier_.start_recv(from, tag_, received, more, receive);
  const bool receives = s == Status::ok;
  if (receives) s = carrier_.start_send(to, tag_, sent, bytes, send);
  const bool sends = receives && s == Status::ok;
  for (int left = sends ? 2 : 0; left > 0 && s == Status::ok;) {
    std::array<carrier::Completion, 2> done;
    std::size_t n = 0;
    s = carrier_.wait_any(done, &n, limit_);
    if (s == Status::ok && n == 0)
      s = fail(Status::timeout, "ranks {} and {} did not come within {} s", from, to, limit_);
    for (std::size_t i = 0; i < n && s == Status::ok; ++i) s = done[i].status;
    left -= static_cast<int>(n);
  }
  if (s == Status::ok) return s;
  const bool free = (!receives || carrier_.cancel(receive)) & (!sends || carrier_.cancel(send));
  // Leak the memory that the carrier may still access.
  if (!free) static_cast<void>(new (std::nothrow) std::vector<std::byte>(std::move(blocks_)));
  return s;
}

// Bruck's algorithm: after round k a rank holds the blocks of 2^k ranks, its own first.
Status CarrierExchange::allgather(const void* mine, std::size_t bytes, void* all) noexcept {
  if (broken_) return fail(Status::timeout, std::string_view("the ranks have parted in an earlier exchange"));
  const auto p = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  if (!attempt([&] { blocks_.resize(p * bytes); })) {
    broken_ = true;
    return fail(Status::out_of_memory, "no memory for {} blocks of {} bytes", p, bytes);
  }
  std::memcpy(blocks_.data(), mine, bytes);
  for (std::size_t held = 1; held < p; held *= 2, ++tag_) {
    const std::size_t more = std::min(held, p - held);
    const int to = static_cast<int>((me + p - held) % p), from = static_cast<int>((me + held) % p);
    const Status s = round(to, from, blocks_.data(), more * bytes, blocks_.data() + held * bytes, more * bytes);
    if (s == Status::ok) continue;
    broken_ = true;
    return s;
  }
  for (std::size_t i = 0; i < p; ++i)
    std::memcpy(static_cast<std::byte*>(all) + (me + i) % p * bytes, blocks_.data() + i * bytes, bytes);
  return Status::ok;
}

}  // namespace stretto::node
