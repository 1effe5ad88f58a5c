// What the ranks tell one another before a call's data move: in one small allreduce each, a signature of the call, and
// counts that only the root knows.
#pragma once

#include <cstdint>
#include <vector>

#include "api/communicator.hpp"
#include "base/status.hpp"
#include "call/agreement.hpp"
#include "engine/engine.hpp"

namespace stretto::api {

// One block, never cut, exact. `in` and `out` are borrowed. Throws std::bad_alloc.
Status exchange_words(stretto_comm_s& comm, engine::Engine& engine, const void* in, void* out, std::size_t words,
                      payload::Spec spec, double timeout, engine::Request* request);

struct Exchanges {
  Signature own, merged;
  bool is_signed = false;
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

  select::Agreement agreement() const noexcept { return {merged.values, merged.contributions, merged.ratios()}; }

  // These throw std::bad_alloc.
  Status start_signatures(stretto_comm_s& comm, const Call& call);
  Status start_counts(stretto_comm_s& comm, const Call& call);
  Status take_counts(const stretto_comm_s& comm, Call* call) const;
};

}  // namespace stretto::api
