#include "api/operation/words.hpp"

#include "api/communicator.hpp"
#include "api/rounding.hpp"
#include "backend/hosts/hosts_short.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "engine/tags.hpp"

namespace stretto::api {

void merge_signature(const void* from, void* into) {
  call::Signature a, b;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, into, sizeof b);
  merge(a, b);
  std::memcpy(into, &b, sizeof b);
}

Status exchange_words(stretto_comm_s& comm, engine::Engine& engine, const void* in, void* out, std::size_t words,
                      payload::Spec spec, double timeout, engine::Request* request, std::uint64_t number) {
  spec.type = payload::Type::u64;
  engine::Work c;
  c.schedule = comm.exchanges.get(
      "recursive_doubling", {.collective = Collective::allreduce, .ranks = comm.size, .rank = comm.rank, .blocks = 1});
  if (!c.schedule || c.schedule->blocks != 1)
    return fail(Status::internal, "no schedule of one block for the exchange");
  c.payload = spec;
  c.blocks.push_back({words, in, out});
  c.options.segment_bytes = 0;
  c.options.timeout = timeout;
  return engine.start(c, request, number);
}

bool agrees_by_messages(const stretto_comm_s& comm) noexcept { return comm.size > 1 && !comm.backends.node; }

bool travels_with_word(const stretto_comm_s& comm, const Call& call, const select::Decision& d) noexcept {
  if (!agrees_by_messages(comm) || !d.needs.check || d.needs.values() || !d.made || d.samples_later || d.trial ||
      d.streams())
    return false;
  const bool plain = !call.nonblocking && !call.device && !call.stream && !call.captured;
  return plain && call.settings.schedule.empty() && !call.settings.options.reproducible &&
         call.collective != Collective::barrier && backend::is_short(shape_of(call)) &&
         call.count * stretto_type_size(call.type) <= schedule::kLongestShortCall;
}

engine::Load load_of(const Shape& s, const void* send, void* recv) noexcept {
  engine::Load load;
  load.bytes = s.count * stretto_type_size(s.type);
  load.count = s.count;
  load.type = payload_type(s.type);
  if (rooted(s.collective)) load.root = s.root;
  if (s.collective == Collective::bcast) {
    load.kind = engine::Load::Kind::broadcast;
    load.out = recv != nullptr ? recv : const_cast<void*>(send);
    load.in = load.out;
    return load;
  }
  load.kind = engine::Load::Kind::combine;
  load.op = payload_op(s.op);
  load.in = send == STRETTO_IN_PLACE ? recv : send;
  load.out = recv;
  return load;
}

engine::Load merging(const call::Signature& own, call::Signature* merged) noexcept {
  engine::Load load;
  load.kind = engine::Load::Kind::merge;
  load.bytes = sizeof own;
  load.in = &own;
  load.out = merged;
  load.merge = merge_signature;
  return load;
}

std::uint64_t word_of(std::uint64_t digest, const select::Needs& needs, bool carried,
                      std::uint64_t unchecked) noexcept {
  const auto bit = [](bool b, int at) { return std::uint64_t{b} << at; };
  const std::uint64_t also =
      bit(needs.counts, 0) | bit(needs.range, 1) | bit(needs.sample, 2) | bit(needs.check, 3) | bit(carried, 4);
  return digest == 0 ? 0 : engine::mix(engine::mix(digest, also), unchecked) | 1;
}

void complete_raw(const stretto_comm_s& comm, const Shape& shape, bool carried, select::Decision* d,
                  engine::Report* ran) noexcept {
  if (reduces(shape.collective)) d->inputs = d->contributions = static_cast<std::uint64_t>(comm.size);
  d->bound.rounding = unseen_additions(shape, d->inputs);
  if (!carried) return;
  const float mpi = d->choice.why.mpi;
  d->choice = {};
  d->choice.provider = Provider::schedules;
  d->choice.why = {select::Reason::agreement, 0, mpi};
  copy_text("recursive_doubling", ran->algorithm);
}

}  // namespace stretto::api
