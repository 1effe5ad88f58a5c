#include "backend/hosts/hosts.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "backend/hosts/host_exchange.hpp"
#include "base/retained.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "schedule/registry.hpp"

namespace stretto::backend {

using namespace call;

namespace {

// Bytes that the kernel copies at once: they stay in the second-level cache until summed.
constexpr std::size_t kWindowChunk = 128 * 1024;

void add(const engine::Report& piece, engine::Report* all) noexcept {
  all->algorithm = piece.algorithm;
  all->payload = piece.payload;
  all->raw_bytes += piece.raw_bytes;
  all->bytes_sent += piece.bytes_sent;
  all->messages_sent += piece.messages_sent;
  all->segments += piece.segments;
  all->compress_seconds += piece.compress_seconds;
  all->decompress_seconds += piece.decompress_seconds;
  all->combine_seconds += piece.combine_seconds;
  all->wait_seconds += piece.wait_seconds;
  all->total_seconds += piece.total_seconds;
}

}  // namespace

std::byte* Piece::make_room(std::size_t bytes) {
  if (!room) room = std::make_unique<Room>();
  room->bytes.resize(bytes);
  return room->bytes.data();
}

Hosts::Hosts(engine::Engine& e, const schedule::Groups& groups)
    : engine(e), members(groups.members), group_of(groups.group_of) {
  find_place();
}

void Hosts::find_place() noexcept {
  const int rank = engine.carrier().rank();
  index = group_of[static_cast<std::size_t>(rank)];
  number = number_of(rank);
  lanes = members.front().size();
  for (const auto& of_host : members) lanes = std::min(lanes, of_host.size());
}

void Hosts::part(const std::vector<char>& lacks) {
  parted = std::find(lacks.begin(), lacks.end(), 1) != lacks.end();
  if (!parted) return;
  std::vector<std::vector<std::int32_t>> all;
  for (const auto& of_host : members) {
    if (lacks[static_cast<std::size_t>(of_host.front())] == 0) {
      all.push_back(of_host);
      continue;
    }
    for (const std::int32_t r : of_host) all.push_back({r});
  }
  members = std::move(all);
  for (std::size_t g = 0; g < members.size(); ++g)
    for (const std::int32_t r : members[g]) group_of[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(g);
  find_place();
}

std::size_t Hosts::number_of(int rank) const noexcept {
  const std::vector<std::int32_t>& here = members[static_cast<std::size_t>(group_of[static_cast<std::size_t>(rank)])];
  return static_cast<std::size_t>(std::find(here.begin(), here.end(), rank) - here.begin());
}

std::shared_ptr<const schedule::Schedule> Hosts::schedule_of(Collective kind, const select::Choice& choice,
                                                             std::vector<std::int32_t> peers, int root) {
  const auto place_of = [&](int rank) {
    return static_cast<std::int32_t>(std::find(peers.begin(), peers.end(), rank) - peers.begin());
  };
  const std::int32_t root_at = root < 0 ? 0 : place_of(root);
  for (const Kept& kept : kept_)
    if (kept.kind == kind && kept.name == choice.schedule && kept.blocks == choice.blocks &&
        kept.radix == choice.radix && kept.root_at == root_at && kept.peers == peers)
      return kept.schedule;
  const schedule::Algorithm* const algorithm = schedule::find(kind, choice.schedule);
  if (!algorithm) return nullptr;
  schedule::Request request;
  request.collective = kind;
  request.ranks = static_cast<std::int32_t>(peers.size());
  request.rank = place_of(engine.carrier().rank());
  request.root = root_at;
  request.blocks = choice.blocks;
  request.radix = choice.radix;
  auto made = std::make_shared<schedule::Schedule>(algorithm->build(request));
  place_between(peers, root_at, engine.carrier().rank(), engine.carrier().size(), made.get());
  if (kept_.size() >= kMostKept) kept_.clear();
  kept_.push_back({kind, choice.schedule, choice.blocks, choice.radix, root_at, std::move(peers), made});
  return made;
}

std::byte* Hosts::make_room(Use use, std::size_t bytes) {
  std::unique_ptr<Room>& room = rooms_[static_cast<std::size_t>(use)];
  if (!room) room = std::make_unique<Room>();
  if (room->bytes.size() < bytes) room->bytes.resize(bytes);
  return room->bytes.data();
}

void Hosts::retain_rooms() noexcept {
  for (Piece& piece : between) {
    piece.request = {};
    retain(std::move(piece.room));
  }
  for (auto& room : rooms_) retain(std::move(room));
}

PieceByPiece::PieceByPiece(Hosts& hosts, const Call& call, const Decision& decision, payload::Type type,
                           engine::Report* ran)
    : at_(hosts),
      host_(hosts.host.get()),
      kind_(schedule::family(call.collective)),
      type_(type),
      size_(payload::size_of(type)),
      ran_(ran) {
  const payload::Op op = reduces(kind_) ? payload_op(call.op) : payload::Op::sum;
  inside_.op = op == payload::Op::mean ? payload::Op::sum : op;
  const double timeout = timeout_of(call.settings.options);
  if (host_) host_->group().patience().limit = timeout > 0 ? timeout : std::numeric_limits<double>::infinity();
  work_.payload = decision.spec;
  if (at_.parted) {  // more contributions than the bound was divided by
    work_.payload.kind = payload::Kind::raw;
    work_.payload.nodes = 0;
  }
  work_.payload.type = type_;
  work_.options.segment_bytes = decision.choice.segment;
  work_.options.timeout = timeout;
}

Status PieceByPiece::run_pieces(std::size_t pieces) {
  const std::size_t lag = window_ ? kMostBehind : 0;
  std::size_t begun = 0, ended = 0, left = 0;
  while (left < pieces) {
    if (pieces > 1) static_cast<void>(at_.engine.progress());
    Status s = Status::ok;
    if (begun < pieces && begun - left < kMostBetween)
      s = begin(begun++);
    else if (ended < pieces && ended - left <= lag)
      s = end(ended++);
    else
      s = leave(left++);
    if (s != Status::ok) return s;
  }
  return window_ ? window_->close() : Status::ok;
}

Status PieceByPiece::pass() noexcept {
  static_cast<void>(at_.engine.pass());
  return Status::ok;
}

Status PieceByPiece::finish(Piece& piece) noexcept {
  engine::Report report;
  if (const Status s = piece.request.wait(&report); s != Status::ok) return s;
  add(report, ran_);
  return Status::ok;
}

Status PieceByPiece::open_window(const node::CallRecord& record, node::Window::Buffer input,
                                 node::Window::Buffer results, std::size_t pieces) {
  auto window = std::make_unique<node::Window>(host_->group(), host_->memory());
  bool visible = false;
  const Status s = window->open(record, input, results, pieces, &visible);
  if (s == Status::ok && visible) window_ = std::move(window);
  return s;
}

Status PieceByPiece::sum_in_window(std::size_t at, std::size_t count, const std::byte* own, bool apart, std::byte* to) {
  const std::size_t most = kWindowChunk / size_;
  at_.copies.resize(std::max(at_.copies.size(), 3 * kWindowChunk));
  std::byte* const room = at_.copies.data();
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t n = std::min(most, count - done);
    std::byte* const result = to + done * size_;
    std::byte* const sum = apart ? room + 2 * kWindowChunk : result;
    const std::byte *first = nullptr, *next = nullptr;
    Status s = Status::ok;
    for (int r = 0; r < host_->size() && s == Status::ok; ++r) {
      std::byte* const copied = room + (r == 0 ? 0 : kWindowChunk);
      const std::byte** const operand = r == 0 ? &first : &next;
      if (r == host_->rank())
        *operand = own + done * size_;
      else
        s = window_->input(r, at + done * size_, n * size_, copied, operand);
      if (s != Status::ok || r == 0) continue;
      s = r == 1 ? node::join(inside_, type_, first, next, sum, n) : node::fold(inside_, type_, sum, next, n);
    }
    if (s != Status::ok) return s;
    if (apart) std::memcpy(result, sum, n * size_);
  }
  return Status::ok;
}

Status PieceByPiece::copy_input(std::size_t peer, std::size_t at, std::size_t bytes, std::byte* to) {
  const std::byte* found = nullptr;
  if (const Status s = window_->input(static_cast<int>(peer), at, bytes, to, &found); s != Status::ok) return s;
  if (found != to && bytes > 0) std::memcpy(to, found, bytes);
  return Status::ok;
}

}  // namespace stretto::backend
