// Reduce_scatters of several hosts (docs/node.md). The lane's rank of each host sums the blocks of its lane's ranks.
// Between the hosts they travel as one block a host, and the lane's other ranks take their results from its rank.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/hosts/hosts_calls.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "codec/stream/format.hpp"

namespace stretto::backend {

using namespace call;

namespace {

class ReduceScatter final : public PieceByPiece {
 public:
  ReduceScatter(Hosts& hosts, const Call& call, const Decision& decision, engine::Report* ran)
      : PieceByPiece(hosts, call, decision, payload_type(call.type), ran),
        rank_(static_cast<std::size_t>(hosts.engine.carrier().rank())),
        replaces_(in_place(call.send)),
        in_(static_cast<const std::byte*>(replaces_ ? call.recv : call.send)),
        out_(static_cast<std::byte*>(call.recv)),
        lanes_(hosts.lanes),
        in_lane_(hosts.number < lanes_),
        lane_(hosts.number % lanes_),
        counts_(hosts.group_of.size(), call.count),
        firsts_(hosts.group_of.size()) {
    if (!call.counts.empty()) counts_ = call.counts;
    std::exclusive_scan(counts_.begin(), counts_.end(), firsts_.begin(), std::size_t{0});
    const std::size_t grains = decision.choice.piece / size_ / counts_.size() / codec::kGroup;
    step_ = std::max<std::size_t>(grains, 1) * codec::kGroup;
    if (!in_lane_) return;
    std::vector<std::int32_t> peers;
    for (const auto& members : at_.members) peers.push_back(members[lane_]);
    std::sort(peers.begin(), peers.end());  // as the blocks of a schedule are (place_between)
    work_.schedule = at_.schedule_of(kind_, decision.choice, std::move(peers), -1);
  }

  Status run() {
    if (in_lane_ && !work_.schedule)
      return fail(Status::internal, "no schedule of {} between hosts", schedule::name(kind_));
    const std::size_t longest = *std::max_element(counts_.begin(), counts_.end());
    const std::size_t pieces = (longest + step_ - 1) / step_, own = counts_[rank_] * size_;
    result_ = replaces_ ? at_.make_room(Hosts::Use::undelivered, own) : out_;  // operands of later pieces stay
    if (!alone()) {
      if (const Status s = open(pieces); s != Status::ok) return s;
    }
    if (const Status s = run_pieces(pieces); s != Status::ok) return s;
    if (replaces_ && own > 0) std::memcpy(out_, result_, own);
    return Status::ok;
  }

 private:
  std::size_t count_of(const Piece& piece, std::size_t rank) const noexcept {
    return piece.first >= counts_[rank] ? 0 : std::min(step_, counts_[rank] - piece.first);
  }
  std::size_t bytes_of(const Piece& piece, std::size_t rank) const noexcept { return count_of(piece, rank) * size_; }
  std::size_t at_of(const Piece& piece, std::size_t rank) const noexcept {
    return (firsts_[rank] + piece.first) * size_;
  }
  std::byte* own_part(const Piece& piece) const noexcept { return result_ + piece.first * size_; }

  using Members = std::vector<std::int32_t>;
  const Members& here() const noexcept { return at_.members[static_cast<std::size_t>(at_.index)]; }
  bool has_several(const Members& host) const noexcept { return lane_ + lanes_ < host.size(); }

  // Calls f(rank, number) for the host's ranks in the lane, until one fails.
  template <class F>
  Status each_of(const Members& host, std::size_t lane, const F& f) const {
    for (std::size_t i = lane; i < host.size(); i += lanes_)
      if (const Status s = f(static_cast<std::size_t>(host[i]), i); s != Status::ok) return s;
    return Status::ok;
  }
  std::size_t lane_bytes(const Piece& piece, const Members& host) const {
    std::size_t sum = 0;
    for (std::size_t i = lane_; i < host.size(); i += lanes_) sum += bytes_of(piece, static_cast<std::size_t>(host[i]));
    return sum;
  }

  Status open(std::size_t pieces) {
    const std::size_t total = std::accumulate(counts_.begin(), counts_.end(), std::size_t{0}) * size_;
    node::Window::Buffer results;
    slot_ = lane_bytes({.first = 0, .count = step_, .block = nullptr, .apart = false, .room = nullptr, .request = {}},
                       here());
    if (in_lane_ && has_several(here())) {
      slots_ = at_.make_room(Hosts::Use::read_by_peers, kMostBetween * slot_);
      results = {slots_, kMostBetween * slot_};
    }
    const node::CallRecord record{kind_, static_cast<std::uint8_t>(type_), static_cast<std::uint8_t>(inside_.op), 0,
                                  total};
    return open_window(record, {in_, total}, results, pieces);
  }

  Status begin(std::size_t index) override {
    Piece& piece = this->piece(index);
    piece.first = index * step_;
    piece.count = step_;
    if (in_lane_) {
      if (const Status s = place(piece, index); s != Status::ok) return s;
    }
    if (!alone() && !window_) {
      if (const Status s = sum_in_slots(piece); s != Status::ok) return s;
    }
    if (!in_lane_) return pass();
    work_.blocks.assign(counts_.size(), {});
    std::byte* sums = piece.room->bytes.data();
    for (const Members& host : at_.members) {
      const auto peer = static_cast<std::size_t>(host[lane_]);
      const std::size_t bytes = lane_bytes(piece, host);
      work_.blocks[peer] = {.count = bytes / size_, .in = sums, .out = peer == rank_ ? piece.block : nullptr};
      if (alone() || window_) {
        if (const Status s = sum(piece, host, sums); s != Status::ok) return s;
      }
      sums += bytes;
    }
    return start(piece);
  }

  // This host's sums, by host, are in `room`; its lane's result comes to `block`.
  Status place(Piece& piece, std::size_t index) {
    std::size_t all = 0;
    for (const Members& host : at_.members) all += lane_bytes(piece, host);
    piece.apart = has_several(here());
    std::byte* const room = piece.make_room(all + (piece.apart && !window_ ? lane_bytes(piece, here()) : 0));
    piece.block = !piece.apart ? own_part(piece) : window_ ? slots_ + index % kMostBetween * slot_ : room + all;
    if (!piece.apart || !window_ || index < kMostBetween) return Status::ok;
    return each_of(here(), lane_, [&](std::size_t, std::size_t number) {  // they have copied the slot's previous result
      return number == lane_ ? Status::ok : window_->await_left(static_cast<int>(number), index - kMostBetween);
    });
  }

  Status sum(const Piece& piece, const Members& host, std::byte* to) {
    return each_of(host, lane_, [&](std::size_t rank, std::size_t) {
      const std::size_t at = at_of(piece, rank), n = count_of(piece, rank);
      Status s = Status::ok;
      if (n > 0 && alone())
        std::memcpy(to, in_ + at, n * size_);
      else if (n > 0)
        s = sum_in_window(at, n, in_ + at, false, to);
      to += n * size_;
      return s;
    });
  }

  Status sum_in_slots(const Piece& piece) {
    std::byte* to = in_lane_ ? piece.room->bytes.data() : nullptr;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      const bool own = in_lane_ && lane == lane_;
      for (const Members& host : at_.members) {
        const Status s = each_of(host, lane, [&](std::size_t rank, std::size_t) {
          const Status done = host_->reduce(in_ + at_of(piece, rank), own ? to : nullptr, count_of(piece, rank), type_,
                                            inside_, static_cast<int>(lane));
          if (own) to += bytes_of(piece, rank);
          return done;
        });
        if (s != Status::ok) return s;
      }
    }
    return Status::ok;
  }

  Status end(std::size_t index) override {
    const Piece& piece = this->piece(index);
    if (in_lane_) {
      if (const Status s = finish(this->piece(index)); s != Status::ok) return s;
      if (piece.apart && count_of(piece, rank_) > 0) std::memcpy(own_part(piece), piece.block, bytes_of(piece, rank_));
    }
    return window_ ? window_->publish() : Status::ok;
  }

  Status leave(std::size_t index) override {
    if (alone()) return Status::ok;
    const Piece& piece = this->piece(index);
    if (!window_) return hand_out(piece);
    if (!in_lane_) {
      std::size_t before = 0;
      for (std::size_t i = lane_; i < at_.number; i += lanes_)
        before += bytes_of(piece, static_cast<std::size_t>(here()[i]));
      const Status s = window_->fetch(static_cast<int>(lane_), index, index % kMostBetween * slot_ + before,
                                      bytes_of(piece, rank_), own_part(piece));
      if (s != Status::ok) return s;
    }
    window_->leave(index);
    return Status::ok;
  }

  // The host's ranks meet for each result of a rank without a lane.
  Status hand_out(const Piece& piece) {
    const std::byte* from = in_lane_ ? piece.block + bytes_of(piece, rank_) : nullptr;
    for (std::size_t i = lanes_; i < here().size(); ++i) {
      const auto rank = static_cast<std::size_t>(here()[i]);
      const std::size_t bytes = bytes_of(piece, rank), lane = i % lanes_;
      const bool gives = in_lane_ && lane == lane_;
      at_.copies.resize(std::max(at_.copies.size(), bytes));
      std::byte* const data = rank == rank_ ? own_part(piece) : at_.copies.data();
      if (gives && bytes > 0) std::memcpy(data, from, bytes);
      if (const Status s = host_->bcast(data, bytes, static_cast<int>(lane)); s != Status::ok) return s;
      if (gives) from += bytes;
    }
    return Status::ok;
  }

  const std::size_t rank_;
  const bool replaces_;  // in place: the result overwrites operands
  const std::byte* const in_;
  std::byte* const out_;
  const std::size_t lanes_;
  const bool in_lane_;
  const std::size_t lane_;
  std::vector<std::size_t> counts_, firsts_;  // by rank: elements, and the first in the operands
  std::size_t step_ = 0;                      // elements of a block in a piece
  std::byte* result_ = nullptr;
  std::byte* slots_ = nullptr;  // results for the lane's other ranks, by piece
  std::size_t slot_ = 0;
};

}  // namespace

Status run_reduce_scatter(Hosts& hosts, const Call& call, const Decision& decision, engine::Report* ran) {
  return ReduceScatter(hosts, call, decision, ran).run();
}

}  // namespace stretto::backend
