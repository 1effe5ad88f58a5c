#include "codec/exception_map.hpp"

#include <algorithm>
#include <bit>

namespace stretto::codec {
namespace {

constexpr std::size_t padded(std::size_t n) noexcept { return (n + 3) / 4 * 4; }

void set_run(Lanes lanes, int begin, int end) noexcept {
  for (int b = begin / kBlock; b * kBlock < end; ++b) {
    const std::uint32_t from = b * kBlock < begin ? ~0u << (begin % kBlock) : ~0u;
    lanes[b] |= from & lanes_below(b, end);
  }
}

bool parse_runs(const std::uint8_t* p, std::size_t n, int m, Lanes lanes) noexcept {
  int at = 0, length = 0;
  bool inside = false;  // of exceptions
  for (std::size_t i = 0; i < n; ++i) {
    length += p[i];
    if (p[i] == 255) {
      if (i + 1 == n) return false;
      continue;
    }
    if (length == 0 && at + (inside ? 1 : 0) > 0) return false;
    if (length >= m - at) return false;
    if (inside) set_run(lanes, at, at + length);
    at += length;
    inside = !inside;
    length = 0;
  }
  if (n == 0) return false;
  if (inside) set_run(lanes, at, m);
  return true;
}

bool parse_lanes(const std::uint8_t* p, std::size_t left, int m, Lanes lanes, std::size_t* taken) noexcept {
  if (left < 12 || p[2] || p[3]) return false;
  const auto some = load<std::uint32_t>(p + 4), all = load<std::uint32_t>(p + 8);
  if (some == 0 || (all & ~some)) return false;
  std::size_t at = 12;
  for (int b = 0; b < kBlocks; ++b) {
    if (!(some >> b & 1)) continue;
    const std::uint32_t full = lanes_below(b, m);
    if (full == 0) return false;
    if (all >> b & 1) {
      lanes[b] = full;
      continue;
    }
    if (left - at < 4) return false;
    lanes[b] = load<std::uint32_t>(p + at);
    at += 4;
    if (lanes[b] == 0 || (lanes[b] & ~full)) return false;
  }
  *taken = at;
  return true;
}

}  // namespace

std::size_t parse_exception_map(const std::uint8_t* p, std::size_t left, int m, std::uint8_t* kind,
                                Lanes lanes) noexcept {
  if (left < 4) return 0;
  *kind = p[0];
  if (*kind > 15) return 0;
  if ((*kind & kQuietNanBit) && (*kind & (kUniformBit | kSumsBit)) != kUniformBit) return 0;
  std::size_t taken = 0;
  if (!(*kind & kRunsBit)) return p[1] == 0 && parse_lanes(p, left, m, lanes, &taken) ? taken : 0;
  taken = padded(2 + std::size_t{p[1]});
  if (left < taken || !parse_runs(p + 2, p[1], m, lanes)) return 0;
  for (std::size_t i = 2 + std::size_t{p[1]}; i < taken; ++i)
    if (p[i]) return 0;
  return taken;
}

std::size_t write_exception_map(const Lanes lanes, int m, std::uint8_t* out, std::size_t room) noexcept {
  std::uint8_t runs[255 + 3] = {};  // and the padding behind the last one
  constexpr std::size_t kMost = 255;
  std::size_t n = 0;
  bool fits = true;
  if (lanes[0] & 1) runs[n++] = 0;
  // A run ends before each place that differs from the one before it.
  int at = 0;
  std::uint32_t before = lanes[0] & 1;  // the last place of the block before
  for (int b = 0; b < kBlocks && fits; ++b) {
    std::uint32_t ends = (lanes[b] ^ (lanes[b] << 1 | before)) & lanes_below(b, m);
    before = lanes[b] >> 31;
    for (; ends && fits; ends &= ends - 1) {
      const int next = kBlock * b + std::countr_zero(ends);
      int length = next - at;
      for (; length >= 255 && n < kMost; length -= 255) runs[n++] = 255;
      fits = n < kMost && length < 255;
      if (fits) runs[n++] = static_cast<std::uint8_t>(length);
      at = next;
    }
  }
  std::uint32_t some = 0, all = 0;
  std::size_t by_lanes = 12;
  for (int b = 0; b < kBlocks; ++b) {
    if (lanes[b] == 0) continue;
    some |= 1u << b;
    if (lanes[b] == lanes_below(b, m))
      all |= 1u << b;
    else
      by_lanes += 4;
  }
  const std::size_t by_runs = padded(2 + n);
  const bool use_runs = fits && by_runs <= by_lanes;
  const std::size_t bytes = use_runs ? by_runs : by_lanes;
  if (room < bytes) return 0;
  if (use_runs) {
    out[0] = kRunsBit;
    out[1] = static_cast<std::uint8_t>(n);
    std::memcpy(out + 2, runs, bytes - 2);
    return bytes;
  }
  store(out, std::uint32_t{0});
  store(out + 4, some);
  store(out + 8, all);
  std::uint8_t* p = out + 12;
  for (int b = 0; b < kBlocks; ++b) {
    if (!(some >> b & ~all >> b & 1)) continue;
    store(p, lanes[b]);
    p += 4;
  }
  return bytes;
}

const std::uint8_t* quiet_nan_bytes(std::size_t size) noexcept {
  static constexpr std::uint8_t float32[4] = {0, 0, 0xc0, 0x7f};
  static constexpr std::uint8_t float64[8] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
  return size == 4 ? float32 : float64;
}

}  // namespace stretto::codec
