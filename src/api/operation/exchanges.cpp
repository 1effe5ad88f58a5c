// Ranks agree in one small allreduce.
#include <algorithm>
#include <cstring>

#include "api/operation/operation.hpp"

namespace stretto::api {
namespace {

void merge_words(const void* left, void* right, std::size_t count, void*) {
  if (count != signature_words) return;
  Signature from, into;
  std::memcpy(&from, left, sizeof from);
  std::memcpy(&into, right, sizeof into);
  merge(from, into);
  std::memcpy(right, &into, sizeof into);
}

}  // namespace

Status exchange_words(stretto_comm_s& comm, engine::Engine& engine, const void* in, void* out, std::size_t words,
                      payload::Spec spec, double timeout, engine::Request* request) {
  engine::Work c;
  schedule::Request r;
  r.collective = schedule::Collective::allreduce;
  r.ranks = comm.size;
  r.rank = comm.rank;
  r.blocks = 1;
  c.schedule = comm.exchanges.get("recursive_doubling", r);
  if (!c.schedule || c.schedule->blocks != 1)
    return fail(Status::internal, "no schedule of one block for the exchange");
  c.payload = spec;
  c.blocks.push_back({words, in, out});
  c.options.segment_bytes = 0;
  c.options.timeout = timeout;
  return engine.start(c, request);
}

Status Operation::exchange_signatures() noexcept {
  try {
    payload::Spec spec;
    spec.type = payload::Type::u64;
    spec.op = payload::Op::user;
    spec.user = {merge_words, nullptr, true};
    return exchange_words(comm_, comm_.agreement, &own_, &merged_, signature_words, spec,
                          timeout_of(call_.settings.options), &exchange_);
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for the agreement"));
  }
}

// If only the root knows all counts, and each rank its own, all learn both: p words of the ranks, p of the root.
Status Operation::exchange_counts() noexcept {
  try {
    const auto p = static_cast<std::size_t>(comm_.size), r = static_cast<std::size_t>(comm_.rank);
    own_counts_.assign(2 * p, 0);
    all_counts_.assign(2 * p, 0);
    own_counts_[r] = call_.count;
    if (comm_.rank == call_.root) std::copy(call_.counts.begin(), call_.counts.end(), own_counts_.begin() + comm_.size);
    payload::Spec spec;
    spec.type = payload::Type::u64;
    spec.op = payload::Op::max;
    return exchange_words(comm_, comm_.data, own_counts_.data(), all_counts_.data(), 2 * p, spec,
                          timeout_of(call_.settings.options), &exchange_);
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to exchange counts"));
  }
}

Status Operation::take_counts() noexcept {
  const auto p = static_cast<std::size_t>(comm_.size);
  for (std::size_t r = 0; r < p; ++r)
    if (all_counts_[r] != all_counts_[p + r])
      return fail(Status::incompatible, "count differs: {} on rank {}, {} for it in counts of root {}", all_counts_[r],
                  r, all_counts_[p + r], call_.root);
  try {
    call_.counts.assign(all_counts_.begin(), all_counts_.begin() + comm_.size);
    if (comm_.rank != call_.root) call_.displs.clear();
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for the counts"));
  }
}

}  // namespace stretto::api
