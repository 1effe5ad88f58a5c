#include <algorithm>
#include <array>
#include <cstring>

#include "backend/hosts/hosts_calls.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "codec/stream/format.hpp"
#include "engine/binding.hpp"

namespace stretto::backend {

using namespace call;

namespace {

// Longer sums use all lanes: an additional message costs more than a longer one. A broadcast has one lane, so that the
// root sends from its own memory.
constexpr std::size_t kLongestInOneLane = 8 * 1024;

class VectorCall final : public PieceByPiece {
 public:
  VectorCall(Hosts& hosts, const Call& call, const Decision& decision, engine::Report* ran)
      : PieceByPiece(hosts, call, decision,
                     call.collective == Collective::barrier ? payload::Type::u8 : payload_type(call.type), ran),
        count_(kind_ == Collective::barrier ? 0 : call.count),
        in_(reduces(kind_) && !in_place(call.send) ? static_cast<const std::byte*>(call.send) : nullptr),
        out_(static_cast<std::byte*>(call.recv)),
        lanes_(count_ * size_ <= kLongestInOneLane || kind_ == Collective::bcast ? 1 : hosts.lanes) {
    if (kind_ == Collective::bcast && out_ == nullptr) out_ = static_cast<std::byte*>(const_cast<void*>(call.send));
    if (rooted(kind_)) {
      root_ = call.root;
      root_number_ = at_.number_of(root_);
      at_root_ = root_ == at_.engine.carrier().rank();
      with_root_ = at_.group_of[static_cast<std::size_t>(root_)] == at_.index;
    }
    in_lane_ = lanes_ == 1 ? at_.number == local(0) : at_.number < lanes_;
    lane_ = lanes_ == 1 ? 0 : at_.number;
    if (in_lane_) {
      const std::vector<std::int32_t> all = peers();
      const int root = root_ < 0 ? -1 : all[static_cast<std::size_t>(at_.group_of[static_cast<std::size_t>(root_)])];
      work_.schedule = at_.schedule_of(kind_, decision.choice, all, root);
    }
    const std::size_t grain = codec::kGroup * lanes_;
    step_ = std::max<std::size_t>(decision.choice.piece / size_ / grain, 1) * grain;
  }

  Status run() {
    if (in_lane_ && !work_.schedule)
      return fail(Status::internal, "no schedule of {} between hosts", schedule::name(kind_));
    const std::size_t pieces = kind_ == Collective::barrier ? 1 : (count_ + step_ - 1) / step_;
    const bool opens =
        kind_ == Collective::bcast ? count_ * size_ > kLongestInOneLane : kind_ == Collective::allreduce && lanes_ > 1;
    if (!alone() && opens) {
      if (const Status s = open(pieces); s != Status::ok) return s;
    }
    return run_pieces(pieces);
  }

 private:
  const std::byte* input(std::size_t first) const noexcept { return (in_ != nullptr ? in_ : out_) + first * size_; }
  std::byte* output(std::size_t first) const noexcept { return out_ + first * size_; }
  std::size_t first_of(const Piece& piece, std::size_t lane) const noexcept {
    return engine::first_of(piece.count, static_cast<int>(lanes_), static_cast<int>(lane), 1);
  }
  std::size_t count_of(const Piece& piece, std::size_t lane) const noexcept {
    return first_of(piece, lane + 1) - first_of(piece, lane);
  }
  std::size_t at_of(const Piece& piece, std::size_t lane) const noexcept {
    return (piece.first + first_of(piece, lane)) * size_;
  }
  // All ranks of the host have blocks of one length.
  bool is_even(const Piece& piece) const noexcept {
    return static_cast<std::size_t>(host_->size()) == lanes_ && piece.count % lanes_ == 0;
  }

  std::size_t local(std::size_t lane) const noexcept { return lanes_ == 1 && with_root_ ? root_number_ : lane; }

  std::vector<std::int32_t> peers() const {
    std::vector<std::int32_t> all;
    all.reserve(at_.members.size());
    for (const auto& members : at_.members) all.push_back(members[lane_]);
    if (lanes_ == 1 && root_ >= 0) all[static_cast<std::size_t>(at_.group_of[static_cast<std::size_t>(root_)])] = root_;
    return all;
  }

  bool copies_root() const noexcept { return kind_ == Collective::bcast && with_root_; }

  Status open(std::size_t pieces) {
    const std::size_t bytes = count_ * size_;
    node::Window::Buffer operands, results;
    if (kind_ == Collective::allreduce || (copies_root() && at_root_)) operands = {input(0), bytes};
    if (kind_ == Collective::allreduce || (kind_ == Collective::bcast && !with_root_)) results = {out_, bytes};
    const node::CallRecord record{kind_, static_cast<std::uint8_t>(type_), static_cast<std::uint8_t>(inside_.op),
                                  std::max(root_, 0), bytes};
    return open_window(record, operands, results, pieces);
  }

  Status begin(std::size_t index) override {
    Piece& piece = this->piece(index);
    piece.first = index * step_;
    piece.count = std::min(step_, count_ - piece.first);
    place_block(piece);
    if (const Status s = arrive(piece); s != Status::ok) return s;
    return start_lane(piece);
  }

  // A sum must not replace input that other ranks still read. Only the root has memory for results of a reduce.
  void place_block(Piece& piece) {
    const bool own = kind_ != Collective::reduce || (at_root_ && lanes_ == 1);
    const bool replaces = reduces(kind_) && in_ == nullptr;
    piece.block = nullptr;
    piece.apart = !alone() && !window_ && (!own || replaces);
    if (piece.apart) {
      piece.block = piece.make_room(count_of(piece, 0) * size_);
    } else if (own && in_lane_ && count_ > 0) {
      piece.block = output(piece.first + first_of(piece, lane_));
    }
  }

  Status arrive(const Piece& piece) {
    if (alone()) return Status::ok;
    if (window_) return kind_ == Collective::allreduce && in_lane_ ? sum_lane(piece) : Status::ok;
    if (kind_ == Collective::barrier) return host_->barrier();
    return reduces(kind_) ? sum(piece) : Status::ok;
  }

  // The bits are reduce_scatter's. In place a rank alone reads its operand of its own lane.
  Status sum_lane(const Piece& piece) {
    const std::size_t at = at_of(piece, lane_);
    return sum_in_window(at, count_of(piece, lane_), input(0) + at, in_ == nullptr, piece.block);
  }

  Status sum(const Piece& piece) {
    const std::size_t block = piece.count / lanes_ * size_;
    if (is_even(piece) && host_->group().oversubscribed() && host_->copies_differ(block))
      return sum_copies(piece, block);
    if (is_even(piece))
      return host_->reduce_scatter(input(piece.first), piece.block, piece.count / lanes_, type_, inside_);
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      std::byte* const to = in_lane_ && lane == lane_ ? piece.block : nullptr;
      const Status s = host_->reduce(input(piece.first + first_of(piece, lane)), to, count_of(piece, lane), type_,
                                     inside_, static_cast<int>(local(lane)));
      if (s != Status::ok) return s;
    }
    return Status::ok;
  }

  // With shared cores each round in slots waits for a core; the kernel copies a whole block in one. The bits are
  // reduce_scatter's.
  Status sum_copies(const Piece& piece, std::size_t block) {
    const auto ranks = static_cast<std::size_t>(host_->size());
    at_.copies.resize(ranks * block);
    if (const Status s = host_->alltoall(input(piece.first), at_.copies.data(), block); s != Status::ok) return s;
    const std::byte* next = at_.copies.data();
    const std::size_t count = piece.count / lanes_;
    Status s = node::join(inside_, type_, next, next + block, piece.block, count);
    for (std::size_t r = 2; r < ranks && s == Status::ok; ++r)
      s = node::fold(inside_, type_, piece.block, next + r * block, count);
    return s;
  }

  Status start_lane(Piece& piece) {
    if (!in_lane_) return pass();
    const bool unsummed = reduces(kind_) && alone();
    const engine::Arguments arguments{.in = unsummed ? input(piece.first) : piece.block,
                                      .out = piece.block,
                                      .count = kind_ == Collective::barrier ? 0 : count_of(piece, lane_)};
    const Status s = engine::bind(*work_.schedule, type_, arguments, &work_.blocks);
    return s != Status::ok ? s : start(piece);
  }

  Status end(std::size_t index) override {
    if (in_lane_) {
      if (const Status s = finish(piece(index)); s != Status::ok) return s;
    }
    return window_ ? window_->publish() : Status::ok;
  }

  Status leave(std::size_t index) override {
    const Piece& piece = this->piece(index);
    if (alone()) return Status::ok;
    if (window_) return leave_window(piece, index);
    if (kind_ == Collective::barrier) return host_->barrier();
    if (kind_ == Collective::reduce) return with_root_ ? collect(piece) : Status::ok;
    return spread(piece);
  }

  Status leave_window(const Piece& piece, std::size_t index) {
    for (std::size_t i = 1; i <= lanes_; ++i) {
      const std::size_t lane = (at_.number + i) % lanes_;
      if (in_lane_ && lane == lane_) continue;
      const std::size_t at = at_of(piece, lane), bytes = count_of(piece, lane) * size_;
      const Status s = copies_root() ? copy_input(root_number_, at, bytes, out_ + at)
                                     : window_->fetch(static_cast<int>(local(lane)), index, at, bytes, out_ + at);
      if (s != Status::ok) return s;
    }
    window_->leave(index);
    return Status::ok;
  }

  Status collect(const Piece& piece) {
    if (lanes_ == 1) {
      if (at_root_ && piece.apart) std::memcpy(output(piece.first), piece.block, piece.count * size_);
      return Status::ok;
    }
    const std::size_t block = count_of(piece, 0) * size_;
    if (at_root_) at_.copies.resize(static_cast<std::size_t>(host_->size()) * block);
    std::byte* const all = at_root_ ? at_.copies.data() : nullptr;
    if (const Status s = host_->gather(piece.block, all, block, static_cast<int>(root_number_)); s != Status::ok)
      return s;
    for (std::size_t lane = 0; at_root_ && lane < lanes_; ++lane)
      std::memcpy(output(piece.first + first_of(piece, lane)), all + lane * block, count_of(piece, lane) * size_);
    return Status::ok;
  }

  Status spread(const Piece& piece) {
    std::byte* const whole = output(piece.first);
    if (is_even(piece))
      return host_->allgather(piece.apart ? piece.block : nullptr, whole, piece.count / lanes_ * size_);
    if (piece.apart && in_lane_)
      std::memcpy(whole + first_of(piece, lane_) * size_, piece.block, count_of(piece, lane_) * size_);
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      const Status s = host_->bcast(whole + first_of(piece, lane) * size_, count_of(piece, lane) * size_,
                                    static_cast<int>(local(lane)));
      if (s != Status::ok) return s;
    }
    return Status::ok;
  }

  const std::size_t count_;
  const std::byte* const in_;  // null: in place, or not a reduction
  std::byte* out_;
  const std::size_t lanes_;
  int root_ = -1;
  std::size_t root_number_ = 0;
  bool at_root_ = false;
  bool with_root_ = false;
  bool in_lane_ = false;
  std::size_t lane_ = 0;
  std::size_t step_ = 0;
};

}  // namespace

Status run_vector(Hosts& hosts, const Call& call, const Decision& decision, engine::Report* ran) {
  return VectorCall(hosts, call, decision, ran).run();
}

}  // namespace stretto::backend
