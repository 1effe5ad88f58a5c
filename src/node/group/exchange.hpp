// How the ranks of a node first meet: an allgather of a few bytes, which something older than the shared segment provides.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "base/status.hpp"
#include "carrier/carrier.hpp"

namespace stretto::node {

// Ranks 0 .. size-1 of one node. Collective calls, in the same order on every rank; used while a group is made, never after.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  // all[r * bytes ..] = what rank r gave, on every rank; `bytes` the same everywhere.
  virtual Status allgather(const void* mine, std::size_t bytes, void* all) noexcept = 0;

  template <class T>
  Status allgather(const T& mine, std::vector<T>* all) {
    static_assert(std::is_trivially_copyable_v<T>);
    all->resize(static_cast<std::size_t>(size()));
    return allgather(&mine, sizeof(T), all->data());
  }
};

// Room for what the ranks tell each other, taken before they first meet: so that none is left waiting for one that had no memory.
class Gathering {
 public:
  static constexpr std::size_t kMost = 1152;  // bytes of a contribution
  void reserve(int ranks) { room_.resize(static_cast<std::size_t>(ranks) * kMost); }

  // (*all)[r]: what rank r gave; valid until the next call.
  template <class T>
  Status operator()(Exchange& exchange, const T& mine, std::span<const T>* all) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMost);
    *all = {reinterpret_cast<const T*>(room_.data()), static_cast<std::size_t>(exchange.size())};
    return exchange.allgather(&mine, sizeof(T), room_.data());
  }

 private:
  std::vector<std::byte> room_;
};

// An exchange over a carrier: ⌈log2 p⌉ rounds. Uses tags from `first_tag` on; nothing else may use them, or the carrier, meanwhile. After
// a failure all later calls fail at once: the ranks have parted.
class CarrierExchange final : public Exchange {
 public:
  explicit CarrierExchange(carrier::Carrier& carrier, std::uint64_t first_tag = 0, double limit = 300) noexcept
      : carrier_(carrier), tag_(first_tag), limit_(limit) {}
  int rank() const noexcept override { return carrier_.rank(); }
  int size() const noexcept override { return carrier_.size(); }
  Status allgather(const void* mine, std::size_t bytes, void* all) noexcept override;
  using Exchange::allgather;

 private:
  Status round(int to, int from, const std::byte* sent, std::size_t bytes, std::byte* received,
               std::size_t more) noexcept;

  carrier::Carrier& carrier_;
  std::uint64_t tag_, id_ = 0;
  double limit_;  // seconds that a message may take
  bool broken_ = false;
  std::vector<std::byte> blocks_;
};

}  // namespace stretto::node
