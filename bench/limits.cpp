#include "bench/limits.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "bench/rows.hpp"
#include "node/kernels.hpp"
#include "node/wait.hpp"

namespace stretto::bench {
namespace {

constexpr std::size_t piece = 8192;  // floats copied, added and copied in turn

void spin_until(const std::atomic<std::uint64_t>& value, std::uint64_t least) noexcept {
  while (value.load(std::memory_order_acquire) < least) node::pause();
}

}  // namespace

Limits::Limits(node::Exchange& exchange, std::size_t bytes) : rank_(exchange.rank()) {
  const std::size_t vector = (bytes + 4095) / 4096 * 4096, stage = 4 * piece * sizeof(float);
  const std::size_t each = 2 * vector + stage;
  if (node::make_segment(exchange, 4096 + 2 * each, node::Passing::proc_then_socket, &memory_) != Status::ok)
    throw std::runtime_error(message());
  std::byte* base = memory_->data();
  flags_ = reinterpret_cast<Flag*>(base);
  const auto at = [&](int rank, std::size_t offset) {
    return reinterpret_cast<float*>(base + 4096 + static_cast<std::size_t>(rank) * each + offset);
  };
  in_ = at(rank_, 0), peer_in_ = at(1 - rank_, 0);
  out_ = at(rank_, vector), peer_out_ = at(1 - rank_, vector);
  stage_ = at(rank_, 2 * vector), peer_stage_ = at(1 - rank_, 2 * vector);
  std::memset(in_, 0, each);
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
  return median(std::move(us));
}

void Limits::rewrite(std::size_t n, float by) noexcept {
  for (std::size_t i = 0; i < n; ++i) in_[i] = by + static_cast<float>(i & 1023);
}

void Limits::allreduce_mapped(std::size_t n, bool streaming) noexcept {
  const node::Stores stores = streaming ? node::Stores::streaming : node::Stores::plain;
  meet();
  const std::size_t half = n / 2, first = rank_ == 0 ? 0 : half, end = rank_ == 0 ? half : n;
  alignas(64) float sum[1024];
  for (std::size_t at = first; at < end; at += 1024) {
    const std::size_t m = std::min<std::size_t>(1024, end - at);
    for (std::size_t i = 0; i < m; ++i) sum[i] = in_[at + i] + peer_in_[at + i];
    node::copy(out_ + at, sum, m * sizeof(float), stores);
    node::copy(peer_out_ + at, sum, m * sizeof(float), stores);
  }
  meet();
}

void Limits::allreduce_staged(std::size_t n, bool streaming) noexcept {
  const node::Stores stores = streaming ? node::Stores::streaming : node::Stores::plain;
  for (std::size_t at = 0, k = 0; at < n; at += piece, k ^= 1) {
    const std::size_t m = std::min(piece, n - at), half = m / 2;
    const std::size_t mine = rank_ == 0 ? 0 : half, mine_n = rank_ == 0 ? half : m - half;
    const std::size_t theirs = rank_ == 0 ? half : 0, theirs_n = m - mine_n;
    float *stage = stage_ + k * 2 * piece, *peer = peer_stage_ + k * 2 * piece;
    node::copy(stage + theirs, in_ + at + theirs, theirs_n * sizeof(float), stores);
    meet();
    for (std::size_t i = 0; i < mine_n; ++i) out_[at + mine + i] = in_[at + mine + i] + peer[mine + i];
    node::copy(stage + piece + mine, out_ + at + mine, mine_n * sizeof(float), stores);
    meet();
    std::memcpy(out_ + at + theirs, peer + piece + theirs, theirs_n * sizeof(float));
  }
}

void Limits::bcast_mapped(std::size_t bytes) noexcept {
  meet();
  if (rank_ == 1) std::memcpy(out_, peer_in_, bytes);
  meet();
}

}  // namespace stretto::bench
