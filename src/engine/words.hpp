// The ranks of a call first compare a word, a hash of their arguments, with which short values travel
// (docs/architecture.md, "Words by messages"). If all words are equal, every rank gets the combined values; otherwise
// each learns that they differ. Nothing blocks: completions start the next steps.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "engine/tags.hpp"
#include "payload/payload.hpp"
#include "schedule/schedule.hpp"

namespace stretto::engine {

struct Report;

// Ranks with equal words have loads of one kind, type and length.
struct Load {
  enum class Kind : std::uint8_t {
    none,
    combine,    // by `op`, in one order for all ranks: even zeros and NaNs are equal everywhere
    broadcast,  // of `root`
    merge       // by `merge`, in any order
  };

  Kind kind = Kind::none;
  std::size_t bytes = 0;  // at most schedule::kLongestShortCall
  const void* in = nullptr;
  void* out = nullptr;  // written at the end; `in` is read at the begin, and may be equal
  int root = -1;        // of a broadcast, or the only rank with a result; negative: all have one
  payload::Type type{};
  payload::Op op{};
  std::size_t count = 0;
  void (*merge)(const void* from, void* into) = nullptr;

  bool gives(int rank) const noexcept { return kind != Kind::none && (kind != Kind::broadcast || root == rank); }
  bool takes(int rank) const noexcept {
    if (kind == Kind::broadcast) return root != rank;
    return kind != Kind::none && (root < 0 || root == rank);
  }
};

struct Words {
  const char* what = "";   // the call, in messages; static storage
  std::uint64_t word = 0;  // 0 equals no other, and has no load
  Load load{};
  double timeout = 60;   // seconds without progress; <= 0: no limit
  bool* same = nullptr;  // borrowed; at the end: all ranks gave one word, and `load.out` is written
};

struct WordStep {
  enum class Kind : std::uint8_t { take, swap, ask, give } kind{};  // ask: give, and take the outcome
  int peer = -1;
  bool peer_first = false;  // in the order of values
};

std::vector<WordStep> word_steps(const schedule::Groups& groups, int rank);

// One rank's part. Functions of Run's names have its contracts.
class WordRun {
 public:
  using Clock = std::chrono::steady_clock;

  // Slot in the upper half of a transfer's id; engines' runs have lower ones.
  static constexpr std::uint32_t kFirstSlot = 0x80000000u;
  static constexpr std::uint32_t kMostSlots = 0x40000000u;

  // `steps` and the carrier are borrowed. Nothing moves before go().
  void begin(const Words& words, const std::vector<WordStep>& steps, carrier::Carrier& carrier, std::uint32_t slot,
             std::uint64_t sequence);

  void go() noexcept;
  bool going() const noexcept { return going_; }
  void waits_for_others() noexcept { moved_ = Clock::now(); }

  void complete(std::uint32_t id, const carrier::Completion& done) noexcept;

  std::uint64_t sequence() const noexcept { return sequence_; }
  bool active() const noexcept { return active_; }
  bool ended() const noexcept { return status_ != Status::ok || (at_ == steps_->size() && open_ == 0); }

  // Other ranks would wait for this one.
  bool stranded() const noexcept { return stranded_; }
  Status status() const noexcept { return status_; }
  const char* text() const noexcept { return text_.data(); }

  // Retains memory that the carrier may still access.
  void give_up(Status status, const char* text) noexcept;

  double timeout() const noexcept { return words_.timeout; }
  bool overdue(Clock::time_point now) const noexcept;
  void pause(Clock::duration time) noexcept;
  std::string what_runs() const;
  std::string diagnosis() const;
  int missing() const noexcept;  // a peer of an open receive, else send; -1: none

  // As Run::finish(); delivers the load, too.
  Status finish(Report* report) noexcept;

  // Precondition: !active().
  void trim() noexcept { rooms_.reset(); }

 private:
  struct Message {
    std::uint64_t word = 0, bytes = 0;
    std::array<std::byte, schedule::kLongestShortCall> data;
  };
  static constexpr std::size_t kHead = offsetof(Message, data);
  struct Rooms {
    alignas(64) std::array<Message, 2> messages;
    Rooms* next = nullptr;
  };

  Message& own() noexcept { return rooms_->messages[own_]; }
  Message& other() noexcept { return rooms_->messages[1 - own_]; }

  void post() noexcept;
  void send(std::size_t step) noexcept;
  void receive(std::size_t step) noexcept;
  void started(Status s, std::uint32_t id) noexcept;
  void advance() noexcept;
  void take(bool other_first) noexcept;
  void strand(Status s) noexcept;
  bool waits() const noexcept { return open_of_[2 * at_] || (two_way() && open_of_[2 * at_ + 1]); }
  bool two_way() const noexcept {
    return (*steps_)[at_].kind == WordStep::Kind::swap || (*steps_)[at_].kind == WordStep::Kind::ask;
  }
  std::uint64_t id(std::uint32_t transfer) const noexcept { return std::uint64_t{slot_} << 32 | transfer; }

  Words words_;
  const std::vector<WordStep>* steps_ = nullptr;
  carrier::Carrier* carrier_ = nullptr;
  std::uint64_t tag_ = 0;
  std::uint32_t slot_ = 0;
  std::uint64_t sequence_ = 0;
  bool active_ = false, going_ = false, stranded_ = false;
  std::size_t at_ = 0;
  std::vector<char> open_of_;  // transfers under way: a step's receive, then its send
  std::size_t open_ = 0;
  std::unique_ptr<Rooms> rooms_;
  std::size_t own_ = 0;
  std::uint64_t bytes_sent_ = 0, messages_sent_ = 0;
  Clock::time_point begun_{}, moved_{};
  Status status_ = Status::ok;
  std::array<char, 512> text_{};
};

}  // namespace stretto::engine
