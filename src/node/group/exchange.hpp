#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/status.hpp"
#include "carrier/carrier.hpp"

namespace stretto::node {

// An allgather of a few bytes before the shared segment exists. Calls are collective and ordered alike on every rank.
class Exchange {
 public:
  static constexpr std::size_t kMostBytes = 1280;  // bytes of a rank in a step

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

  // An agreement on `mine`, this rank's status so far, that carries data in the same exchange. *all, if no rank failed:
  // by rank, valid until the next step.
  template <class T>
  Status step(Status mine, const T& data, std::span<const T>* all) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMostBytes);
    const Status s = step(mine, &data, sizeof(T));
    *all = {reinterpret_cast<const T*>(room_.get()), s == Status::ok ? static_cast<std::size_t>(size()) : 0};
    return s;
  }

  // A step or an agreement could not be made on this rank: others may have gone on, and hold what they made.
  bool parted() const noexcept { return parted_; }

  // The room of steps is on all ranks or on none. Without it, the first step takes an agreement to make it.
  // Uninitialised, so that steps touch no more than they take.
  void make_room() {
    room_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size()) * (kMostBytes + 1));
  }
  void release_room() noexcept { room_.reset(); }

 private:
  friend Status agree(Exchange& exchange, Status mine) noexcept;
  Status meet(const void* mine, std::size_t bytes, void* all) noexcept;
  Status step(Status mine, const void* data, std::size_t bytes) noexcept;

  std::unique_ptr<std::byte[]> room_;
  bool parted_ = false;
};

// Collective. The first failed rank's status; other ranks' messages name it.
Status agree(Exchange& exchange, Status mine) noexcept;

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
