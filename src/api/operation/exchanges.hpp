// What the ranks exchange before a call's data move: words; where these differ, or were compared in memory, a signature
// of the call; and counts that only the root knows.
#pragma once

#include <cstdint>
#include <vector>

#include "api/communicator.hpp"
#include "base/status.hpp"
#include "call/agreement.hpp"
#include "engine/engine.hpp"

namespace stretto::api {

// One block, never cut, exact. `in` and `out` are borrowed.
Status exchange_words(stretto_comm_s& comm, engine::Engine& engine, const void* in, void* out, std::size_t words,
                      payload::Spec spec, double timeout, engine::Request* request,
                      std::uint64_t number = engine::Engine::kNext);

struct Exchanges {
  Signature own, merged;
  bool is_signed = false;
  std::uint64_t unchecked = 0;  // calls without an agreement before this one
  bool asked = false;
  bool carried = false;
  bool same = false;                             // the words
  std::uint64_t number = engine::Engine::kNext;  // of the words
  // Signatures must follow under this number, for which other ranks wait.
  std::uint64_t owed = engine::Engine::kNext;
  std::vector<std::uint64_t> own_counts, all_counts;
  engine::Request request;  // of the one in flight

  // `failure`: found in this rank's arguments, with this thread's message.
  void sign(const stretto_comm_s& comm, const Call& call, const select::Needs& needs, Status failure) noexcept;

  // Equal arguments are all that the ranks must know.
  bool is_uniform(const select::Needs& needs) const noexcept {
    return needs.check && !needs.values() && own.status == 0;
  }
  // To compare in shared memory; 0: signatures must be exchanged.
  std::uint64_t word(const select::Needs& needs) const noexcept { return is_uniform(needs) ? digest(own) : 0; }
  void take_equal_words(int ranks) noexcept;

  select::AgreedValues agreement() const noexcept { return {merged.values, merged.contributions, merged.ratios()}; }

  // Precondition: signed.
  Status start_words(stretto_comm_s& comm, const Call& call, const select::Decision& decision) noexcept;
  // After their end. False: they differ, and signatures must follow.
  bool take_words(const select::Needs& needs, int ranks) noexcept;

  Status start_signatures(stretto_comm_s& comm, const Call& call);
  Status start_counts(stretto_comm_s& comm, const Call& call);
  Status take_counts(const stretto_comm_s& comm, Call* call) const;
};

}  // namespace stretto::api
