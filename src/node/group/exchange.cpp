#include "node/group/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "base/guarded.hpp"

namespace stretto::node {
namespace {

using Reason = std::array<char, 160>;

// The message of rank `failed`, gathered without allocation.
Reason reason_of(Exchange& exchange, std::size_t failed, Status mine) noexcept {
  std::array<Reason, 128> all;
  Reason own{};
  if (mine != Status::ok) copy_message(own);
  const bool few = static_cast<std::size_t>(exchange.size()) <= all.size();
  if (few && exchange.allgather(own.data(), own.size(), all.data()) == Status::ok) return all[failed];
  Reason unknown{"which has its message"};
  return unknown;
}

// `statuses`: by rank, each `stride` bytes after the last.
Status first_failure(Exchange& exchange, const std::byte* statuses, std::size_t stride, Status mine) noexcept {
  const auto p = static_cast<std::size_t>(exchange.size());
  std::size_t failed = 0;
  while (failed < p && statuses[failed * stride] == std::byte{0}) ++failed;
  if (failed == p) return Status::ok;
  const auto status = static_cast<Status>(statuses[failed * stride]);
  const Reason why = reason_of(exchange, failed, mine);
  return mine != Status::ok ? mine : fail(status, "rank {} failed: {}", failed, why.data());
}

}  // namespace

Status agree(Exchange& exchange, Status mine) noexcept {
  // For any usual number of ranks, so that a rank out of memory can report it.
  std::array<std::byte, 4096> few;
  std::unique_ptr<std::byte[]> many;
  const auto p = static_cast<std::size_t>(exchange.size());
  if (p > few.size()) many.reset(new (std::nothrow) std::byte[p]);
  std::byte* const all = p > few.size() ? many.get() : few.data();
  if (all == nullptr) return fail(Status::out_of_memory, "no memory for {} ranks to agree", p);
  const auto own = static_cast<std::byte>(mine);
  if (const Status s = exchange.meet(&own, 1, all); s != Status::ok) return s;
  return first_failure(exchange, all, 1, mine);
}

Status Exchange::meet(const void* mine, std::size_t bytes, void* all) noexcept {
  const Status s = allgather(mine, bytes, all);
  parted_ = parted_ || s != Status::ok;
  return s;
}

Status Exchange::step(Status mine, const void* data, std::size_t bytes) noexcept {
  if (!room_) {
    if (mine == Status::ok) mine = guarded({"for {} ranks to meet", size()}, [&] { make_room(); });
    if (mine = agree(*this, mine); mine != Status::ok) {
      release_room();
      return mine;
    }
  }
  std::array<std::byte, kMostBytes + 1> own;
  own[0] = static_cast<std::byte>(mine);
  std::memcpy(&own[1], data, bytes);
  const std::size_t stride = bytes + 1;
  if (const Status s = meet(own.data(), stride, room_.get()); s != Status::ok) return s;
  if (const Status s = first_failure(*this, room_.get(), stride, mine); s != Status::ok) return s;
  for (std::size_t r = 0; r < static_cast<std::size_t>(size()); ++r)
    std::memmove(room_.get() + r * bytes, room_.get() + r * stride + 1, bytes);
  return Status::ok;
}

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
