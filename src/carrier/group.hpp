#pragma once

#include <span>

#include "carrier/carrier.hpp"

namespace stretto::carrier {

// A carrier among some ranks of `whole`: rank i is rank members[i]. These tags have no other user between members.
// Alarms are those of the whole carrier, with its ranks. Borrows both.
class GroupCarrier final : public Carrier {
 public:
  GroupCarrier(Carrier& whole, std::span<const std::int32_t> members) noexcept;

  const char* name() const noexcept override { return whole_.name(); }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(members_.size()); }
  std::uint64_t tags() const noexcept override { return whole_.tags(); }
  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    return whole_.start_send(member(peer), tag, data, bytes, id);
  }
  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    return whole_.start_recv(member(peer), tag, data, capacity, id);
  }
  Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept override {
    return whole_.wait_any(done, n, seconds);
  }
  bool cancel(std::uint64_t id) noexcept override { return whole_.cancel(id); }
  bool peek(int peer, Arrival* found) noexcept override {
    if (!whole_.peek(member(peer), found)) return false;
    found->peer = peer;
    return true;
  }
  void raise(const Alarm& alarm) noexcept override { whole_.raise(alarm); }
  bool hear(Alarm* alarm) noexcept override { return whole_.hear(alarm); }

 private:
  int member(int peer) const noexcept { return members_[static_cast<std::size_t>(peer)]; }

  Carrier& whole_;
  std::span<const std::int32_t> members_;
  int rank_ = 0;
};

}  // namespace stretto::carrier
