// A blocking call is kept if it needs no agreement and a backend runs it unchanged; the next equal call costs one
// comparison. The C functions find it by their arguments (PreparedByCall), the profiling library by those of the
// program's call (mpi/calls/prepared.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "backend/backend.hpp"
#include "base/status.hpp"
#include "select/decision.hpp"

struct stretto_comm_s;

namespace stretto::api {

class Prepared {
 public:
  Prepared() = default;
  Prepared(std::unique_ptr<backend::PreparedCall> call, std::uint32_t generation) noexcept
      : call_(std::move(call)), generation_(generation) {}

  explicit operator bool() const noexcept { return call_ != nullptr; }

  // An equal call may still run at once. Not for an empty one.
  bool holds(const stretto_comm_s& comm) const noexcept;

  // holds() for calls kept by PreparedByCall, which removes outdated calls itself.
  bool is_current(const stretto_comm_s& comm) const noexcept;

  // Requires holds(comm). Buffers as in Call and of the same buffers_kind(); timeout as in stretto_options.
  Status run(stretto_comm_s& comm, const void* send, void* recv, double timeout) const noexcept;

 private:
  std::unique_ptr<backend::PreparedCall> call_;
  std::uint32_t generation_ = 0;
};

// Made on demand. A line is a struct with members `key` and `call`, a Prepared.
template <class Line>
class PreparedLines {
 public:
  static constexpr std::size_t lines = 64;

  explicit operator bool() const noexcept { return lines_ != nullptr; }

  // Null: there is none yet.
  const Line* at(std::size_t hash) const noexcept { return lines_ ? &(*lines_)[hash % lines] : nullptr; }

  // Null: no memory, and the call is not kept.
  Line* make(std::size_t hash) noexcept {
    if (!lines_) lines_.reset(new (std::nothrow) std::array<Line, lines>);
    return lines_ ? &(*lines_)[hash % lines] : nullptr;
  }

  void clear() noexcept { lines_.reset(); }

 private:
  std::unique_ptr<std::array<Line, lines>> lines_;
};

// Keyed by all arguments that decided the calls, which are equal on all ranks, so all ranks keep the same calls. Not
// for arrays of counts, several inputs or a user's function.
class PreparedByCall {
 public:
  // True: an equal call is kept, and ran; *ended is its status. False: nothing ran; if the ranks have *compared words,
  // they must exchange signatures. Arguments are passed one by one: a struct would stall on store forwarding.
  bool again(stretto_comm_s& comm, call::Collective collective, stretto_type type, stretto_op op, int root,
             std::size_t count, const void* send, void* recv, const stretto_options* options, Status* ended,
             bool* compared) noexcept;

  // `call` is valid, and runs as decided while the ratio known for its data stays the same. `digest`: the word that its
  // ranks compare first; 0: none.
  void keep(const stretto_comm_s& comm, const call::Call& call, const select::Decision& decision,
            std::uint64_t digest) noexcept;

  // The blocking call that ended last, for another cache. Empty unless it is kept here and runs without a comparison of
  // words.
  Prepared last(const stretto_comm_s& comm) const noexcept;

  void passed_by() noexcept { last_ = nullptr; }

  // When a backend ends: decisions for it no longer hold.
  void forget() noexcept {
    lines_.clear();
    last_ = nullptr;
    ++generation_;
  }
  std::uint32_t generation() const noexcept { return generation_; }

  // A buffer may be on a device, so that each call must query it. Kept here to save a cache line.
  void ask_for_devices() noexcept { asks_for_devices_ = true; }
  bool asks_for_devices() const noexcept { return asks_for_devices_; }

 private:
  struct Key {
    call::Shape shape;
    std::uint8_t buffers = 0;
    bool forced = false;
    bool reproducible = false;
    stretto_bound bound_kind{};
    stretto_scope scope{};
    stretto_payload payload{};
    int check = 0;
    double bound = 0;
    std::size_t segment = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  static_assert(sizeof(Key) == 64);
  static Key key_of(const call::Shape& shape, std::uint8_t buffers, const stretto_options& o, bool forced) noexcept;
  static std::size_t hash_of(const Key& k) noexcept;

  struct alignas(64) Line {
    Key key;
    Prepared call;
    select::Rationale why;
    select::Provider provider{};
    std::uint64_t digest = 0;
    std::uint64_t ratios = 0;
  };
  static bool run_line(stretto_comm_s& comm, const Line& line, const void* send, void* recv, const stretto_options& o,
                       Status* ended) noexcept;

  PreparedLines<Line> lines_;
  const Line* last_ = nullptr;  // of the call that ended last; null: it had none
  std::uint32_t generation_ = 0;
  bool asks_for_devices_ = false;
};

// Which are null, which are STRETTO_IN_PLACE, and whether they are equal.
inline std::uint8_t buffers_kind(const void* send, const void* recv) noexcept {
  const auto bit = [](bool b, int at) { return static_cast<std::uint8_t>(std::uint8_t{b} << at); };
  return bit(send == nullptr, 0) | bit(recv == nullptr, 1) | bit(send == STRETTO_IN_PLACE, 2) |
         bit(recv == STRETTO_IN_PLACE, 3) | bit(send == recv, 4);
}

// Every blocking call with check = 1 whose ranks share a host's memory first compares a word of each.
bool compares_words(const call::Call& call, const stretto_comm_s& comm) noexcept;

// The arguments are checked. True: the blocking call ran, and *ended is its status. False: an Operation must run it;
// nothing has happened, but the ranks may have *compared words.
bool run_at_once(stretto_comm_s& comm, const call::Call& call, const select::Decision& decision, Status* ended,
                 bool* compared) noexcept;

}  // namespace stretto::api
