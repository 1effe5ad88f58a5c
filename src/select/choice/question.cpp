#include "select/choice/question.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "call/enums.hpp"
#include "call/schedule_names.hpp"
#include "model/nodes.hpp"

namespace stretto::select {
namespace {

bool same(const model::Question& a, const model::Question& b) noexcept {
  return a.collective == b.collective && a.bytes == b.bytes && a.element == b.element && a.root == b.root &&
         a.keeps_order == b.keeps_order && a.rank_by_rank == b.rank_by_rank && a.exact == b.exact &&
         a.compress == b.compress && a.code_space == b.code_space && a.native == b.native && a.node == b.node &&
         a.started == b.started && a.node_streams == b.node_streams && a.ratio == b.ratio && a.payload == b.payload &&
         a.segment == b.segment && a.raw_below == b.raw_below && a.dense_ratio == b.dense_ratio && a.fixed == b.fixed &&
         a.device == b.device && a.staged == b.staged && a.reaching == b.reaching && a.nodes == b.nodes &&
         a.nodes_streams == b.nodes_streams && a.lines == b.lines && a.schedule == b.schedule;
}

}  // namespace

bool ModelQuery::same_answer(const ModelQuery& o) const noexcept {
  return mixed == o.mixed && in_memory == o.in_memory && reported == o.reported && same(question, o.question);
}

CallForm form_of(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                 Support support) noexcept {
  const stretto_options& o = call.settings.options;
  CallForm f;
  f.bytes = bytes;
  f.segment = o.segment;
  f.raw_below = o.raw_below;
  if (streaming.may) f.ratio = ratios.fixed, f.dense_ratio = ratios.dense;
  f.collective = call.collective;
  f.type = call.type;
  if (reduces(call.collective)) f.op = call.op;
  f.payload = o.payload;
  f.coding = o.coding;
  if (rooted(call.collective)) f.root = call.root;
  f.reaching = support.reaching;
  int at = 0;
  for (const bool flag :
       {streaming.may, streaming.alone, support.native, support.node, support.streams, support.device, support.staged,
        support.nodes, support.nodes_streams, call.nonblocking, o.user_commutes != 0, o.reproducible != 0})
    f.flags |= std::uint32_t{flag} << at++;
  return f;
}

std::size_t hash_of(const CallForm& f) noexcept {
  std::uint64_t h = mix(f.bytes, static_cast<std::uint64_t>(f.collective) << 8 | static_cast<std::uint64_t>(f.type));
  h = mix(h, std::uint64_t{f.flags} << 32 | static_cast<std::uint32_t>(f.root));
  return mix(h, std::bit_cast<std::uint64_t>(f.ratio)) >> 32;
}

ModelQuery query_of(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                    Support support) {
  const stretto_options& o = call.settings.options;
  const bool compress = streaming.may;
  ModelQuery a;
  model::Question& q = a.question;
  q.collective = schedule::family(call.collective);
  q.bytes = bytes;
  q.element = static_cast<std::uint32_t>(call.collective == Collective::barrier ? 1 : stretto_type_size(call.type));
  q.root = rooted(call.collective) ? call.root : 0;
  q.keeps_order = call::needs_order(call);
  q.rank_by_rank = !compress && call::rank_by_rank(call);  // sums of codes are equal in any order
  q.exact = reduces(call.collective) && call::is_exact(call);
  q.compress = compress;
  // Data that change a little ask alike: four steps a factor of two.
  const auto rounded = [](double ratio) { return model::power_of_two(2 * std::lround(4 * std::log2(ratio))); };
  q.ratio = compress ? rounded(ratios.fixed) : 1;
  // Dense streams' speed on a device is unmeasured: only the caller chooses them there.
  const bool may_be_dense = support.device ? o.coding == STRETTO_CODING_DENSE : o.coding != STRETTO_CODING_FIXED;
  if (compress && may_be_dense && ratios.dense > 0) {
    // Eight steps: the gain decides between two codings.
    const double gain = std::max(1.0, ratios.dense / ratios.fixed);
    q.dense_ratio = q.ratio * model::power_of_two(std::lround(8 * std::log2(gain)));
    q.fixed = o.coding == STRETTO_CODING_AUTO;
  }
  q.segment = o.segment;
  q.raw_below = compress && !streaming.alone ? o.raw_below : 0;
  a.mixed = compress && o.payload == STRETTO_PAYLOAD_MIXED;
  if (a.mixed)
    q.payload = static_cast<int>(payload::Kind::fused);
  else if (compress && o.payload != STRETTO_PAYLOAD_AUTO)
    q.payload = static_cast<int>(call::payload_kind(o.payload));
  else if (!compress)
    q.payload = static_cast<int>(payload::Kind::raw);
  // A requested payload that adds codes promises equal bits for every schedule. The result of several inputs per rank
  // must not depend on their distribution.
  q.code_space = compress && ((call::adds_codes(o.payload) && q.raw_below == 0) || streaming.alone ||
                              call.collective == Collective::allreduce_multi);
  q.device = support.device;
  q.staged = support.staged;
  q.reaching = support.reaching;
  const bool others = q.raw_below == 0;  // others cannot send short messages raw
  q.native = others && support.native;
  q.node = others && support.node;
  q.node_streams = others && compress && support.streams;
  q.started = call.nonblocking;
  a.in_memory = call.settings.schedule == call::kNodeName;
  if (!a.in_memory) q.schedule = call.settings.schedule;
  const bool nodes = others && support.nodes;
  q.nodes = nodes && (a.in_memory || bytes >= model::least_in_memory(q.collective));
  const bool codes_blocks = compress && support.nodes_streams && q.collective == Collective::alltoall;
  q.lines =
      nodes && (!compress || codes_blocks) && !a.in_memory && model::gains_by_lines(q.collective, bytes, codes_blocks);
  if (codes_blocks) q.element = sizeof(double);  // ranks may name the type differently
  q.nodes_streams = (q.nodes || q.lines) && compress && support.nodes_streams;
  q = model::on_grid(std::move(q));
  a.reported = o.report != nullptr;

  std::uint64_t h = mix(q.bytes, static_cast<std::uint64_t>(q.collective));
  h = mix(h, std::uint64_t{q.element} << 32 | static_cast<std::uint32_t>(q.root));
  h = mix(h, std::bit_cast<std::uint64_t>(q.ratio));
  h = mix(h, static_cast<std::uint64_t>(q.payload + 1) << 16 | std::uint64_t{q.staged} << 12 |
                 std::uint64_t{q.device} << 13 | std::uint64_t{q.rank_by_rank} << 15 | std::uint64_t{q.exact} << 14 |
                 std::uint64_t{q.native} << 7 | std::uint64_t{q.started} << 6 | std::uint64_t{a.mixed} << 5 |
                 std::uint64_t{q.code_space} << 4 | std::uint64_t{q.keeps_order} << 3 | std::uint64_t{q.node} << 2 |
                 std::uint64_t{q.compress} << 1 | std::uint64_t{q.node_streams});
  if (q.nodes) h = mix(h, 2 + std::uint64_t{q.nodes_streams} + 2 * std::uint64_t{a.in_memory});
  if (q.lines) h = mix(h, 6);
  if (q.raw_below > 0) h = mix(h, q.raw_below);
  if (q.dense_ratio > 0) h = mix(h, std::bit_cast<std::uint64_t>(q.dense_ratio) + std::uint64_t{q.fixed});
  if (q.reaching > 0) h = mix(h, static_cast<std::uint64_t>(q.reaching));
  a.cell = mix(h, q.segment ^ q.schedule.size());
  return a;
}

}  // namespace stretto::select
