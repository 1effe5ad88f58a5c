// The short way of a blocking call that needs no word with the other ranks and that a native collective serves best: it goes straight
// down. What was concluded from a call's arguments is kept, so that the next call like it costs a comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "api/collective.hpp"
#include "api/native.hpp"
#include "base/status.hpp"

struct stretto_comm_s;

namespace stretto::api {

// Calls that went straight, by all that decided it. Each rank keeps what follows from arguments that are the same on all ranks, so all
// ranks go on alike. Calls with arrays of counts, with several inputs or with a function of the user's are not kept.
class Straight {
 public:
  // The blocking call that ended last, where it was like one that is kept and nothing is said before it.
  struct Last {
    Native* native = nullptr;  // null: it was not so
    Shape shape;
    Course* course = nullptr;
    // That the course had had before the call, which may have been the last one before another.
    std::uint32_t looks = 0;
  };
  Last last() const noexcept;

  // True: a call like this one is kept, and ran; *ended is its status. False: nothing has happened but, perhaps, what *met says (Call::met).
  // Buffers as in Call. The shape comes number by number: put together in memory it would be read in wider pieces than it was written, and so not
  // before all that was stored earlier has left the core, the last call's line to another core first.
  bool again(stretto_comm_s& comm, Collective collective, stretto_type type, stretto_op op, int root, std::size_t count,
             const void* send, void* recv, const stretto_options* options, Status* ended, bool* met) noexcept;

  // `call`, whose arguments are fine, goes straight to `native` as long as the same is known of its data. `digest`: what its ranks agree
  // on first; 0: nothing.
  void keep(const stretto_comm_s& comm, const Call& call, Native& native, std::uint64_t digest) noexcept;

  // A call takes the long way.
  void passed_by() noexcept { last_ = nullptr; }

  // A native collective serves nothing any more: what was concluded with it no longer holds.
  void forget() noexcept {
    lines_.reset();
    last_ = nullptr;
    ++forgotten_;
  }
  std::uint32_t forgotten() const noexcept { return forgotten_; }  // so many times

 private:
  // All that decides how a call runs but what is kept beside.
  struct Key {
    Shape shape;
    std::uint8_t buffers = 0;
    bool forced = false;  // by the name of the native collective
    bool reproducible = false;
    stretto_bound bound_kind{};
    stretto_scope scope{};
    stretto_payload payload{};
    int check = 0, trials = 0;
    double bound = 0;
    std::size_t segment = 0;
    double ignore_above = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  static_assert(sizeof(Key) == 72);  // its end is in the cache line of what is kept beside
  static Key key_of(const Shape& shape, std::uint8_t buffers, const stretto_options& o, bool forced) noexcept;

  struct alignas(64) Line {
    Key key;
    std::unique_ptr<Native::Repeated> call;  // null: an empty line
    Course* course = nullptr;                // of the trial that chose `native`, when it had had so many looks
    std::uint32_t looks = 0;
    Why why;
    std::uint64_t digest = 0;
    std::uint64_t ratios = 0;  // what was known of such data then
    Native* native = nullptr;  // whose collective it is
  };
  std::unique_ptr<std::array<Line, 64>> lines_;  // null until there is one
  const Line* last_ = nullptr;                   // the line of the call that ended last; null: it had none
  std::uint32_t forgotten_ = 0;
};

// All that the checks of buffers look at: which are null, which stand for "in place", and whether they are the same.
inline std::uint8_t kind_of(const void* send, const void* recv) noexcept {
  const auto bit = [](bool b, int at) { return static_cast<std::uint8_t>(std::uint8_t{b} << at); };
  return bit(send == nullptr, 0) | bit(recv == nullptr, 1) | bit(send == STRETTO_IN_PLACE, 2) |
         bit(recv == STRETTO_IN_PLACE, 3) | bit(send == recv, 4);
}

// Precondition: the arguments are checked. True: the blocking `call` ran, and *ended is its status. False: it must take the long way;
// nothing has happened but, perhaps, what call.met says.
bool go_straight(stretto_comm_s& comm, Call& call, Status* ended) noexcept;

}  // namespace stretto::api
