#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "base/status.hpp"
#include "carrier/carrier.hpp"

namespace stretto::node {

// An allgather of a few bytes before the shared segment exists. Calls are collective and ordered alike on every rank.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  // all[r * bytes ..] = rank r's; `bytes` is equal on every rank.
  virtual Status allgather(const void* mine, std::size_t bytes, void* all) noexcept = 0;

  template <class T>
  Status allgather(const T& mine, std::vector<T>* all) {
    static_assert(std::is_trivially_copyable_v<T>);
    all->resize(static_cast<std::size_t>(size()));
    return allgather(&mine, sizeof(T), all->data());
  }
};

// Allocated before the first exchange: a rank out of memory keeps no other waiting.
class GatherBuffer {
 public:
  static constexpr std::size_t kMost = 1152;
  void reserve(int ranks) { room_.resize(static_cast<std::size_t>(ranks) * kMost); }

  // Valid until the next call.
  template <class T>
  Status operator()(Exchange& exchange, const T& mine, std::span<const T>* all) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMost);
    *all = {reinterpret_cast<const T*>(room_.data()), static_cast<std::size_t>(exchange.size())};
    return exchange.allgather(&mine, sizeof(T), room_.data());
  }

 private:
  std::vector<std::byte> room_;
};

// In ⌈log2 p⌉ rounds, with exclusive use of the carrier's tags from `first_tag` on. After a failure all later calls
// fail.
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
  double limit_;  // seconds per message
  bool broken_ = false;
  std::vector<std::byte> blocks_;
};

}  // namespace stretto::node
