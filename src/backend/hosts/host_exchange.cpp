#include "backend/hosts/host_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/guarded.hpp"
#include "engine/tags.hpp"
#include "schedule/registry.hpp"

namespace stretto::backend {

namespace {

bool has_block_for_each_rank(schedule::Collective kind) noexcept {
  using schedule::Collective;
  return kind == Collective::allgather || kind == Collective::reduce_scatter || kind == Collective::gather ||
         kind == Collective::scatter;
}

}  // namespace

void place_between(std::span<const std::int32_t> peers, int root, int rank, int ranks,
                   schedule::Schedule* made) noexcept {
  const auto peer = [&](std::int32_t i) { return peers[static_cast<std::size_t>(i)]; };
  const bool by_rank = has_block_for_each_rank(made->collective);
  const auto place = [&](schedule::Range* r) {
    if (!by_rank || r->count == 0) return;
    const std::int32_t first = peer(r->first);
    *r = {r->buffer, first, peer(r->first + r->count - 1) + 1 - first};
  };
  made->ranks = ranks;
  made->rank = rank;
  made->root = peer(root);
  if (by_rank) made->blocks = ranks;
  for (schedule::Step& step : made->steps) {
    place(&step.dst);
    place(&step.src);
    if (step.peer < 0) continue;
    step.peer = peer(step.peer);
    step.link = schedule::Link::network;
  }
}

HostExchange::HostExchange(engine::Engine& engine, std::span<const std::int32_t> members, double timeout)
    : engine_(engine), members_(members) {
  const int own = engine.carrier().rank();
  rank_ = static_cast<int>(std::find(members.begin(), members.end(), own) - members.begin());
  schedule::Request request;
  request.collective = schedule::Collective::allgather;
  request.ranks = size();
  request.rank = rank_;
  auto made = std::make_shared<schedule::Schedule>(
      schedule::find(schedule::Collective::allgather, "dissemination")->build(request));
  place_between(members, 0, own, engine.carrier().size(), made.get());
  work_.schedule = std::move(made);
  work_.blocks.resize(static_cast<std::size_t>(engine.carrier().size()));
  work_.payload.type = payload::Type::u8;
  work_.options.segment_bytes = 0;
  work_.options.timeout = timeout;
}

Status HostExchange::allgather(const void* mine, std::size_t bytes, void* all) noexcept {
  if (size() == 1) {
    std::memmove(all, mine, bytes);
    return Status::ok;
  }
  if (status_ != Status::ok) return fail(status_, "{}", why_.data());
  if (runs_ == kMostRuns) return fail(Status::internal, "the memory of a host takes more than {} exchanges", kMostRuns);
  ++runs_;
  for (std::size_t i = 0; i < members_.size(); ++i)
    work_.blocks[static_cast<std::size_t>(members_[i])] = {.count = bytes,
                                                           .in = i == static_cast<std::size_t>(rank_) ? mine : nullptr,
                                                           .out = static_cast<std::byte*>(all) + i * bytes};
  status_ = engine_.run(work_);
  if (status_ != Status::ok) copy_message(why_);
  return status_;
}

// Tags of runs that differ by a multiple of 16 look alike (engine::Tags), and ranks ahead may send messages of the next
// run to ranks in their last exchange: one more exchange then keeps these apart.
Status HostExchange::fill_up() noexcept {
  constexpr int alike = 1 << engine::Tags::kLeastRunBits;
  std::vector<std::byte> none;
  if (runs_ > 0 && runs_ < kMostRuns && (kMostRuns + 1 - runs_) % alike == 0) {
    std::array<char, 1> own{};
    const Status s = guarded("for an exchange inside a host", [&] { none.resize(members_.size()); });
    if (s != Status::ok) return s;
    static_cast<void>(allgather(own.data(), own.size(), none.data()));
  }
  for (; runs_ < kMostRuns; ++runs_) static_cast<void>(engine_.pass());
  return status_ == Status::ok ? status_ : fail(status_, "{}", why_.data());
}

}  // namespace stretto::backend
