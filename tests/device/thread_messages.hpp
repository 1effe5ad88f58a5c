// Messages between emulated devices of ranks that are threads: memory is copied by whichever side comes second. What has ended
// is reported in an order by chance, and late.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "carrier/device_messages.hpp"
#include "devices.hpp"

namespace stretto::tests {

// What the ranks share.
class DeviceMailboxes {
 public:
  explicit DeviceMailboxes(std::uint64_t seed) : random(seed) {}
  struct Side {
    int rank;
    carrier::DeviceTransfer given;
    std::size_t loan;
    void* real;
    bool ended;
  };
  std::mutex mutex;
  std::vector<Side> sides;  // in order of starting
  std::mt19937_64 random;
};

class ThreadMessages final : public carrier::DeviceMessages {
 public:
  ThreadMessages(std::shared_ptr<DeviceMailboxes> boxes, int rank) : boxes_(std::move(boxes)), rank_(rank) {}
  ~ThreadMessages() override { abort(); }

  const char* name() const noexcept override { return "threads"; }
  bool one_by_one() const noexcept override { return false; }

  Status start(std::span<const carrier::DeviceTransfer> group) noexcept override {
    const std::lock_guard lock(boxes_->mutex);
    for (const carrier::DeviceTransfer& t : group) {
      void* real = nullptr;
      const std::size_t loan = emulation().lend(t.data, t.bytes, !t.sends, &real);
      DeviceMailboxes::Side mine{rank_, t, loan, real, false};
      const auto other = std::find_if(boxes_->sides.begin(), boxes_->sides.end(), [&](const auto& s) {
        return !s.ended && s.rank == t.peer && s.given.peer == rank_ && s.given.tag == t.tag &&
               s.given.sends != t.sends;
      });
      if (other != boxes_->sides.end()) {
        EXPECT_EQ(other->given.bytes, t.bytes) << "lengths that were not announced so";
        std::memcpy(t.sends ? other->real : real, t.sends ? real : other->real, std::min(t.bytes, other->given.bytes));
        other->ended = mine.ended = true;
      }
      boxes_->sides.push_back(mine);
    }
    return Status::ok;
  }

  Status poll(std::span<carrier::Completion> done, std::size_t* n) noexcept override {
    const std::lock_guard lock(boxes_->mutex);
    *n = 0;
    std::erase_if(boxes_->sides, [&](const auto& s) {
      if (s.rank != rank_ || !s.ended || *n == done.size() || boxes_->random() % 2 == 0) return false;
      emulation().give_back(s.loan);
      done[(*n)++] = {s.given.id, s.given.bytes, Status::ok};
      return true;
    });
    return Status::ok;
  }

  void abort() noexcept override {
    const std::lock_guard lock(boxes_->mutex);
    std::erase_if(boxes_->sides, [&](const auto& s) {
      if (s.rank == rank_) emulation().give_back(s.loan);
      return s.rank == rank_;
    });
  }

 private:
  std::shared_ptr<DeviceMailboxes> boxes_;
  const int rank_;
};

}  // namespace stretto::tests
