// A communicator's cache of prepared calls. A blocking call is kept if a backend runs it unchanged, after one word of
// agreement or none; the next equal call costs one comparison. The C functions key calls by their arguments, the
// profiling library by the program's (mpi/calls/prepared.hpp). A key holds all that decided the call and is equal on
// all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "backend/backend.hpp"
#include "base/status.hpp"
#include "select/decision.hpp"
#include "stretto/stretto_call.h"

struct stretto_comm_s;

namespace stretto::api {

struct PreparedKey {
  // Never all zero. Whole words: narrower writes, read as words, would stall on store forwarding.
  std::array<std::uint64_t, 5> words{};

  static constexpr std::uint64_t kOfOptions = 1, kOfProgram = 2;  // in words[0]: whose arguments they are

  friend bool operator==(const PreparedKey& a, const PreparedKey& b) noexcept {
    return ((a.words[0] ^ b.words[0]) | (a.words[1] ^ b.words[1]) | (a.words[2] ^ b.words[2]) |
            (a.words[3] ^ b.words[3]) | (a.words[4] ^ b.words[4])) == 0;
  }
  std::size_t hash() const noexcept {
    const std::uint64_t h = words[0] * 0xD6E8FEB86659FD93u ^ words[1] * 0xA0761D6478BD642Fu ^
                            words[2] * 0xE7037ED1A0B428DBu ^ words[3] * 0x8EBC6AF09C88C6E3u ^
                            words[4] * 0x589965CC75374CC3u;
    return (h ^ h >> 32) * 0x9E3779B97F4A7C15u >> 58;
  }
};

// Which are null or STRETTO_IN_PLACE, and whether they are equal.
inline std::uint8_t buffers_kind(const void* send, const void* recv) noexcept {
  const auto bit = [](bool b, int at) { return static_cast<std::uint8_t>(std::uint8_t{b} << at); };
  return bit(send == nullptr, 0) | bit(recv == nullptr, 1) | bit(send == STRETTO_IN_PLACE, 2) |
         bit(recv == STRETTO_IN_PLACE, 3) | bit(send == recv, 4);
}

// `extent`: with it the profiling library finds the buffers of an equal call.
struct PreparedName {
  PreparedKey key;
  std::uint16_t extent = 0;
};

class PreparedCalls {
 public:
  // The first cache line suffices for a call without report, bound, or word.
  struct alignas(64) Line {
    PreparedKey key;
    std::unique_ptr<backend::PreparedCall> call;  // null: carried
    std::uint16_t extent = 0;
    std::uint8_t buffers = 0;  // buffers_kind()
    select::Provider provider{};
    std::uint64_t digest = 0;  // the word that the ranks compare first; 0: none
    std::uint64_t ratios = 0;
    bool carried = false;
    select::Rationale why;

    // Requires a communicator that is_free(), and buffers of this kind. timeout: as in stretto_options.
    Status run(stretto_comm_s& comm, const void* send, void* recv, double timeout) const noexcept;
  };

  const Line* find(const PreparedKey& key) const noexcept {
    if (!lines_) return nullptr;
    const std::size_t at = key.hash();
    if (const Line& first = (*lines_)[at]; first.key == key) [[likely]]
      return &first;
    const Line& second = (*lines_)[at ^ 1];
    return second.key == key ? &second : nullptr;
  }

  // True: a kept call ran; *ended is its status. False: nothing ran; if the ranks have *compared words, they must
  // exchange signatures. Arguments are passed one by one: a struct would stall on store forwarding.
  bool again(stretto_comm_s& comm, call::Collective collective, stretto_type type, stretto_op op, int root,
             std::size_t count, const void* send, void* recv, const stretto_options* options, Status* ended,
             bool* compared) noexcept;

  // `call` is valid, and runs as decided while the ratio known for its data stays equal. Kept if there is memory.
  void keep(const stretto_comm_s& comm, const PreparedName& as, const call::Call& call,
            const select::Decision& decision, std::uint64_t digest, bool carried) noexcept;

  // When a backend ends, or what decides a program's calls changes.
  void forget() noexcept { lines_.reset(); }

  // A buffer may be on a device: each call must query it. Kept here to save a cache line.
  void ask_for_devices() noexcept { asks_for_devices_ = true; }
  bool asks_for_devices() const noexcept { return asks_for_devices_; }

 private:
  static constexpr std::size_t kLines = 64;  // in pairs: each key has two places

  std::unique_ptr<std::array<Line, kLines>> lines_;
  bool asks_for_devices_ = false;
};

// Runs a blocking call, and keeps it under the name `as`, or, if null, by its arguments. `compared`: the ranks have
// compared words. A call in the order of a `stream` is not kept.
Status run_anew(stretto_comm_s* comm, const stretto_options* options, const stretto_call& record,
                const PreparedName* as = nullptr, bool compared = false,
                std::optional<void*> stream = std::nullopt) noexcept;

}  // namespace stretto::api
