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
  // True: a call like this one is kept, and ran; *ended is its status. False: nothing has happened but, perhaps, what *met says (Call::met).
  // Buffers as in Call.
  bool again(stretto_comm_s& comm, const Shape& shape, const void* send, void* recv, const stretto_options* options,
             Status* ended, bool* met) noexcept;

  // `call`, whose arguments are fine, goes straight to `native` as long as the same is known of its data. `digest`: what its ranks agree
  // on first; 0: nothing.
  void keep(const stretto_comm_s& comm, const Call& call, Native& native, std::uint64_t digest) noexcept;

  // A native collective serves nothing any more: what was concluded with it no longer holds.
  void forget() noexcept { lines_.reset(); }

 private:
  // All that decides how a call runs but what is kept beside: one cache line.
  struct Key {
    Shape shape;
    std::uint8_t buffers = 0;
    bool forced = false;  // by the name of the native collective
    stretto_bound bound_kind{};
    stretto_scope scope{};
    stretto_payload payload{};
    int check = 0, trials = 0;
    double bound = 0;
    std::size_t segment = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  static_assert(sizeof(Key) == 64);
  static Key key_of(const Shape& shape, std::uint8_t buffers, const stretto_options& o, bool forced) noexcept;

  struct alignas(64) Line {
    Key key;
    std::unique_ptr<Native::Repeated> call;  // null: an empty line
    Course* course = nullptr;                // of the trial that chose `native`, when it had had so many looks
    std::uint32_t looks = 0;
    std::uint64_t digest = 0;
    std::uint64_t ratios = 0;        // what was known of such data then
    const Native* native = nullptr;  // whose collective it is
  };
  std::unique_ptr<std::array<Line, 64>> lines_;  // null until there is one
};

// Precondition: the arguments are checked. True: the blocking `call` ran, and *ended is its status. False: it must take the long way;
// nothing has happened but, perhaps, what call.met says.
bool go_straight(stretto_comm_s& comm, Call& call, Status* ended) noexcept;

}  // namespace stretto::api
