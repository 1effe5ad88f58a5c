// Messages between emulated devices of ranks that are threads. The side that comes second copies the memory.
// Completions are reported late, in random order.
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

// State shared by the ranks.
class DeviceMailboxes {
 public:
  explicit DeviceMailboxes(std::uint64_t seed) : random(seed) {}
  struct Side {
    int rank;
    carrier::DeviceTransfer given;
    std::size_t loan;
    void* real;
    bool ended, reported;
    bool lies = false;                                  // a receive that is reported too early
    std::shared_ptr<std::vector<std::byte>> instead{};  // replaces memory that may be gone after an early report
  };
  std::mutex mutex;
  std::vector<Side> sides;  // in order of starting
  std::mt19937_64 random;

  // A fault: the n-th receive (from 0) of this rank is reported before its message has come.
  int liar = -1;
  long lie = -1, receives = 0;
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
      DeviceMailboxes::Side mine{rank_, t, loan, real, false, false};
      mine.lies = rank_ == boxes_->liar && !t.sends && boxes_->receives++ == boxes_->lie;
      if (!mine.lies) match(mine);
      boxes_->sides.push_back(mine);
    }
    return Status::ok;
  }

  Status poll(std::span<carrier::Completion> done, std::size_t* n) noexcept override {
    const std::lock_guard lock(boxes_->mutex);
    *n = 0;
    std::erase_if(boxes_->sides, [&](auto& s) {
      if (s.rank != rank_ || *n == done.size()) return false;
      if (!s.reported && (s.lies || (s.ended && boxes_->random() % 2 == 0))) {
        done[(*n)++] = {s.given.id, s.given.bytes, Status::ok};
        s.reported = true;
        if (!s.ended) {
          const auto* at = static_cast<std::byte*>(s.real);
          s.instead = std::make_shared<std::vector<std::byte>>(at, at + s.given.bytes);
          s.real = s.instead->data();
        }
      }
      if (!s.ended || !s.reported) return false;
      emulation().give_back(s.loan);
      return true;
    });
    for (DeviceMailboxes::Side& s : boxes_->sides)
      if (s.rank == rank_ && s.lies && s.reported && !s.ended) match(s);
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
  // Copies from or to the other side, or leaves that to it if it has not come.
  void match(DeviceMailboxes::Side& mine) {
    const carrier::DeviceTransfer& t = mine.given;
    const auto other = std::find_if(boxes_->sides.begin(), boxes_->sides.end(), [&](const auto& s) {
      return !s.ended && s.lies == s.reported && s.rank == t.peer && s.given.peer == rank_ && s.given.tag == t.tag &&
             s.given.sends != t.sends;
    });
    if (other == boxes_->sides.end()) return;
    EXPECT_EQ(other->given.bytes, t.bytes) << "lengths that were not announced so";
    std::memcpy(t.sends ? other->real : mine.real, t.sends ? mine.real : other->real,
                std::min(t.bytes, other->given.bytes));
    other->ended = mine.ended = true;
  }

  std::shared_ptr<DeviceMailboxes> boxes_;
  const int rank_;
};

}  // namespace stretto::tests
