#include "api/operation/exchanges.hpp"

#include <algorithm>
#include <cstring>

#include "api/operation/carried.hpp"
#include "call/enums.hpp"
#include "select/signature.hpp"

namespace stretto::api {
namespace {

void merge_words(const void* left, void* right, std::size_t count, void*) {
  if (count != kSignatureWords) return;
  Signature from, into;
  std::memcpy(&from, left, sizeof from);
  std::memcpy(&into, right, sizeof into);
  merge(from, into);
  std::memcpy(right, &into, sizeof into);
}

}  // namespace

Status exchange_words(stretto_comm_s& comm, engine::Engine& engine, const void* in, void* out, std::size_t words,
                      payload::Spec spec, double timeout, engine::Request* request, std::uint64_t number) {
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
  return engine.start(c, request, number);
}

void Exchanges::sign(const stretto_comm_s& comm, const Call& call, const select::Needs& needs,
                     Status failure) noexcept {
  own = select::signature_of(call, needs, failure, comm.rank, comm.size);
  if (agrees_by_messages(comm)) own.set(Field::unchecked, unchecked, comm.rank);
  if (needs.sample && !call.nonblocking) own.took = comm.selector.took(call);
  merged = own;
  is_signed = true;
}

void Exchanges::take_equal_words(int ranks) noexcept {
  merged.devices *= static_cast<std::uint32_t>(ranks);
  merged.captured *= static_cast<std::uint32_t>(ranks);
}

// A failed rank's word equals no other, and no value of that rank is read.
Status Exchanges::start_words(stretto_comm_s& comm, const Call& call, const select::Decision& d) noexcept {
  engine::Words words;
  words.what = name(call.collective);
  words.timeout = timeout_of(call.settings.options);
  words.same = &same;
  asked = true;
  if (own.status == 0) {
    carried = travels_with_word(comm, call, d);
    words.word = word_of(digest(own), d.needs, carried, unchecked);
    if (carried)
      words.load = load_of(shape_of(call), call.send, call.recv);
    else if (d.needs.values())
      words.load = merging(own, &merged);
  }
  const Status s = comm.agreement.start(words, &request);
  number = comm.agreement.latest();
  return s;
}

bool Exchanges::take_words(const select::Needs& needs, int ranks) noexcept {
  asked = false;
  if (!same) owed = number;
  carried = carried && same;
  if (same && !needs.values()) take_equal_words(ranks);
  return same;
}

Status Exchanges::start_signatures(stretto_comm_s& comm, const Call& call) {
  payload::Spec spec;
  spec.type = payload::Type::u64;
  spec.op = payload::Op::user;
  spec.user = {merge_words, nullptr, true};
  const Status s = exchange_words(comm, comm.agreement, &own, &merged, kSignatureWords, spec,
                                  timeout_of(call.settings.options), &request, owed);
  if (s == Status::ok) owed = engine::Engine::kNext;
  return s;
}

// If only the root knows all counts, and each rank its own, all learn both: p words of the ranks, p of the root.
Status Exchanges::start_counts(stretto_comm_s& comm, const Call& call) {
  const auto p = static_cast<std::size_t>(comm.size), r = static_cast<std::size_t>(comm.rank);
  own_counts.assign(2 * p, 0);
  all_counts.assign(2 * p, 0);
  own_counts[r] = call.count;
  if (comm.rank == call.root) std::copy(call.counts.begin(), call.counts.end(), own_counts.begin() + comm.size);
  payload::Spec spec;
  spec.type = payload::Type::u64;
  spec.op = payload::Op::max;
  return exchange_words(comm, comm.data, own_counts.data(), all_counts.data(), 2 * p, spec,
                        timeout_of(call.settings.options), &request);
}

Status Exchanges::take_counts(const stretto_comm_s& comm, Call* call) const {
  const auto p = static_cast<std::size_t>(comm.size);
  for (std::size_t r = 0; r < p; ++r)
    if (all_counts[r] != all_counts[p + r])
      return fail(Status::incompatible, "count differs: {} on rank {}, {} for it in counts of root {}", all_counts[r],
                  r, all_counts[p + r], call->root);
  call->counts.assign(all_counts.begin(), all_counts.begin() + comm.size);
  if (comm.rank != call->root) call->displs.clear();
  return Status::ok;
}

}  // namespace stretto::api
