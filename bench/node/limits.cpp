#include "bench/node/limits.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>

#include "base/waiting.hpp"
#include "node/group/wait.hpp"
#include "node/memory/memory.hpp"
#include "timing/rows.hpp"

namespace stretto::bench {
namespace {

constexpr std::size_t kPiece = 8192;         // floats copied at a time
constexpr std::size_t kSummed = 2 * kPiece;  // copied, added and copied at a time: fewer synchronisations are better

void spin_until(const std::atomic<std::uint64_t>& value, std::uint64_t least) noexcept {
  while (value.load(std::memory_order_acquire) < least) pause();
}

struct Place {
  pid_t pid;
  std::uint64_t input, output;
};

}  // namespace

const char* name(Operation operation) noexcept {
  switch (operation) {
    case Operation::bcast: return "bcast";
    case Operation::reduce: return "reduce";
    case Operation::allreduce: return "allreduce";
    case Operation::allgather: return "allgather";
    case Operation::alltoall: return "alltoall";
  }
  return "?";
}

const char* name(CopyPath path) noexcept {
  switch (path) {
    case CopyPath::mapped_plain:
    case CopyPath::staged_plain: return "plain";
    case CopyPath::mapped_streaming:
    case CopyPath::staged_streaming: return "streaming";
    case CopyPath::staged_back: return "plain, back over the operand";
    case CopyPath::kernel: return "kernel";
    case CopyPath::kernel_halves: return "kernel, halves";
  }
  return "?";
}

std::span<const CopyPath> copy_paths(bool mapped) noexcept {
  static constexpr CopyPath kOfMapped[] = {CopyPath::mapped_plain, CopyPath::mapped_streaming};
  static constexpr CopyPath kOfPrivate[] = {CopyPath::staged_plain, CopyPath::staged_streaming, CopyPath::staged_back,
                                            CopyPath::kernel, CopyPath::kernel_halves};
  if (mapped) return kOfMapped;
  return kOfPrivate;
}

Limits::Limits(node::Exchange& exchange, std::size_t bytes) : rank_(exchange.rank()) {
  const std::size_t vector = (bytes + 4095) / 4096 * 4096, stage = 4 * kSummed * sizeof(float);
  const std::size_t each = 2 * vector + stage;
  node::SegmentMaker maker;
  node::SegmentOffer mine;
  std::span<const node::SegmentOffer> offers;
  Status s = maker.offer(exchange, 4096 + 2 * each, &mine);
  s = exchange.step(s, mine, &offers);
  if (s == Status::ok) s = maker.map(exchange, offers.front(), node::Passing::proc_then_socket, &memory_);
  if (s != Status::ok) throw std::runtime_error(message());
  std::byte* base = memory_->data();
  flags_ = reinterpret_cast<Flag*>(base);
  const auto at = [&](int rank, std::size_t offset) {
    return reinterpret_cast<float*>(base + 4096 + static_cast<std::size_t>(rank) * each + offset);
  };
  mapped_in_ = at(rank_, 0), peer_in_ = at(1 - rank_, 0);
  mapped_out_ = at(rank_, vector), peer_out_ = at(1 - rank_, vector);
  private_in_.assign(vector / sizeof(float), 0);
  private_out_ = private_in_;
  stage_ = at(rank_, 2 * vector), peer_stage_ = at(1 - rank_, 2 * vector);
  std::memset(mapped_in_, 0, each);
  use(true);
  std::vector<Place> places;
  if (exchange.allgather(Place{getpid(), reinterpret_cast<std::uintptr_t>(private_in_.data()),
                               reinterpret_cast<std::uintptr_t>(private_out_.data())},
                         &places) != Status::ok)
    throw std::runtime_error(message());
  peer_ = places[static_cast<std::size_t>(1 - rank_)].pid;
  peer_address_ = places[static_cast<std::size_t>(1 - rank_)].input;
  peer_output_ = places[static_cast<std::size_t>(1 - rank_)].output;
}

void Limits::use(bool mapped) noexcept {
  in_ = mapped ? mapped_in_ : private_in_.data();
  out_ = mapped ? mapped_out_ : private_out_.data();
}

void Limits::meet() noexcept {
  flags_[rank_].value.store(++turn_, std::memory_order_release);
  spin_until(flags_[1 - rank_].value, turn_);
}

double Limits::flag_round_trip() {
  constexpr int batches = 101, trips = 200;
  std::vector<double> us;
  meet();
  for (int b = 0; b < batches; ++b) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < trips; ++k) {
      if (rank_ == 0) {
        flags_[0].value.store(++turn_, std::memory_order_release);
        spin_until(flags_[1].value, turn_);
      } else {
        spin_until(flags_[0].value, ++turn_);
        flags_[1].value.store(turn_, std::memory_order_release);
      }
    }
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / trips);
  }
  return timing::median(std::move(us));
}

void Limits::rewrite(std::size_t n, float by) noexcept {
  for (std::size_t i = 0; i < n; ++i) in_[i] = by + static_cast<float>(i & 1023);
}

void Limits::run(Operation operation, CopyPath path, std::size_t n) noexcept {
  const bool all = operation == Operation::allreduce;
  if (all || operation == Operation::reduce) {
    switch (path) {
      case CopyPath::mapped_plain: return combine_mapped(all, node::Stores::plain, n);
      case CopyPath::mapped_streaming: return combine_mapped(all, node::Stores::streaming, n);
      case CopyPath::staged_plain: return combine_staged(all, node::Stores::plain, n);
      case CopyPath::staged_streaming: return combine_staged(all, node::Stores::streaming, n);
      case CopyPath::staged_back: return combine_staged_back(all, n);
      case CopyPath::kernel: return combine_by_kernel(all, n);
      case CopyPath::kernel_halves: return combine_halves_by_kernel(all, n);
    }
  }
  if (operation == Operation::bcast) return move({rank_ == 0, rank_ == 1, 0, 0, n, out_}, path);
  // Two blocks, of which this rank's own is copied locally.
  const std::size_t block = n / 2, mine = rank_ == 0 ? 0 : block, theirs = block - mine;
  const bool exchange = operation == Operation::alltoall;
  std::memcpy(out_ + mine, in_ + (exchange ? mine : 0), block * sizeof(float));
  move({true, true, exchange ? theirs : 0, exchange ? mine : 0, block, out_ + theirs}, path);
}

void Limits::combine_mapped(bool all, node::Stores stores, std::size_t n) noexcept {
  meet();
  const std::size_t half = n / 2, first = rank_ == 0 ? 0 : half, end = rank_ == 0 ? half : n;
  // At the operands' offset within a page, as in src/node/collectives/reduction.cpp.
  alignas(4096) float room[2048];
  float* const sum = room + reinterpret_cast<std::uintptr_t>(in_ + first) / 64 * 64 % 4096 / sizeof(float);
  for (std::size_t at = first; at < end; at += 1024) {
    const std::size_t m = std::min<std::size_t>(1024, end - at);
    for (std::size_t i = 0; i < m; ++i) sum[i] = in_[at + i] + peer_in_[at + i];
    if (all || rank_ == 0) node::copy(out_ + at, sum, m * sizeof(float), stores);
    if (all || rank_ == 1) node::copy(peer_out_ + at, sum, m * sizeof(float), stores);
  }
  meet();
}

void Limits::combine_staged(bool all, node::Stores stores, std::size_t n) noexcept {
  const bool wants = all || rank_ == 0, passes_on = all || rank_ == 1;
  for (std::size_t at = 0, k = 0; at < n; at += kSummed, k ^= 1) {
    const std::size_t m = std::min(kSummed, n - at), half = m / 2;
    const std::size_t mine = rank_ == 0 ? 0 : half, mine_n = rank_ == 0 ? half : m - half;
    const std::size_t theirs = rank_ == 0 ? half : 0, theirs_n = m - mine_n;
    float *stage = stage_ + k * 2 * kSummed, *peer = peer_stage_ + k * 2 * kSummed;
    node::copy(stage + theirs, in_ + at + theirs, theirs_n * sizeof(float), stores);
    meet();
    for (std::size_t i = 0; i < mine_n; ++i) out_[at + mine + i] = in_[at + mine + i] + peer[mine + i];
    if (passes_on) node::copy(stage + kSummed + mine, out_ + at + mine, mine_n * sizeof(float), stores);
    meet();
    if (wants) std::memcpy(out_ + at + theirs, peer + kSummed + theirs, theirs_n * sizeof(float));
  }
}

// combine_staged() with fewer cache-line transfers: the other core holds an operand's lines after reading them, and
// writes the sum back into them.
void Limits::combine_staged_back(bool all, std::size_t n) noexcept {
  constexpr std::size_t whole = 2 * kSummed, block = 512;
  const bool wants = all || rank_ == 0, passes_on = all || rank_ == 1;
  for (std::size_t at = 0, k = 0; at < n; at += whole, k ^= 1) {
    const std::size_t m = std::min(whole, n - at), half = m / 2;
    const std::size_t mine = rank_ == 0 ? 0 : half, mine_n = rank_ == 0 ? half : m - half;
    const std::size_t theirs = rank_ == 0 ? half : 0, theirs_n = m - mine_n;
    float *stage = stage_ + k * whole, *peer = peer_stage_ + k * whole + mine;
    node::copy_to_theirs(stage + theirs, in_ + at + theirs, theirs_n * sizeof(float), node::Stores::plain);
    meet();
    const auto ask = [&](std::size_t from) {
      if (passes_on && from < mine_n)
        node::will_write(reinterpret_cast<std::byte*>(peer + from), std::min(block, mine_n - from) * sizeof(float));
    };
    ask(0);
    for (std::size_t b = 0; b < mine_n; b += block) {
      ask(b + block);
      const std::size_t some = std::min(block, mine_n - b);
      float* const sum = out_ + at + mine + b;
      for (std::size_t i = 0; i < some; ++i) sum[i] = in_[at + mine + b + i] + peer[b + i];
      if (passes_on) std::memcpy(peer + b, sum, some * sizeof(float));
    }
    meet();
    if (wants) node::copy_theirs(out_ + at + theirs, stage + theirs, theirs_n * sizeof(float), node::Stores::plain);
  }
}

void Limits::read(std::uint64_t address, float* to, std::size_t n) const noexcept {
  if (node::read_process(peer_, address, to, n * sizeof(float)) == Status::ok) return;
  std::fprintf(stderr, "%s\n", message());
  std::abort();
}

// Receivers of the sum read all of the other's values.
void Limits::combine_by_kernel(bool all, std::size_t n) noexcept {
  alignas(64) float theirs[kPiece];
  meet();
  for (std::size_t at = 0; at < n && (all || rank_ == 0); at += kPiece) {
    const std::size_t m = std::min(kPiece, n - at);
    read(peer_address_ + at * sizeof(float), theirs, m);
    for (std::size_t i = 0; i < m; ++i) out_[at + i] = in_[at + i] + theirs[i];
  }
  meet();
}

// Each adds its half, and receivers of the sum read the other half from its owner.
void Limits::combine_halves_by_kernel(bool all, std::size_t n) noexcept {
  alignas(64) float theirs[kPiece];
  const std::size_t half = n / 2, first = rank_ == 0 ? 0 : half, end = rank_ == 0 ? half : n;
  meet();
  for (std::size_t at = first; at < end; at += kPiece) {
    const std::size_t m = std::min(kPiece, end - at);
    read(peer_address_ + at * sizeof(float), theirs, m);
    for (std::size_t i = 0; i < m; ++i) out_[at + i] = in_[at + i] + theirs[i];
  }
  meet();
  const std::size_t other = rank_ == 0 ? half : 0;
  if (all || rank_ == 0) read(peer_output_ + other * sizeof(float), out_ + other, n - (end - first));
  meet();
}

void Limits::move(const Move& m, CopyPath path) noexcept {
  const std::size_t bytes = m.n * sizeof(float);
  const auto stores = path == CopyPath::staged_streaming || path == CopyPath::mapped_streaming ? node::Stores::streaming
                                                                                               : node::Stores::plain;
  meet();
  switch (path) {
    case CopyPath::mapped_plain:
    case CopyPath::mapped_streaming:
      if (m.takes) node::copy(m.to, peer_in_ + m.take, bytes, stores);
      break;
    case CopyPath::kernel:
    case CopyPath::kernel_halves:
      if (m.takes) read(peer_address_ + m.take * sizeof(float), m.to, m.n);
      break;
    case CopyPath::staged_plain:
    case CopyPath::staged_streaming:
    case CopyPath::staged_back:
      for (std::size_t at = 0, k = 0; at < m.n + kPiece;
           at += kPiece, k ^= 1) {  // one piece is read while the next is written
        if (m.gives && at < m.n)
          node::copy(stage_ + k * kPiece, in_ + m.give + at, std::min(kPiece, m.n - at) * sizeof(float), stores);
        if (m.takes && at > 0) {
          const std::size_t last = at - kPiece;
          std::memcpy(m.to + last, peer_stage_ + (k ^ 1) * kPiece, std::min(kPiece, m.n - last) * sizeof(float));
        }
        meet();
      }
      return;
  }
  meet();
}

}  // namespace stretto::bench
