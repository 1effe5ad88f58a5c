#include "codec/stream/exception_map.hpp"

#include <algorithm>
#include <bit>

namespace stretto::codec {
namespace {

constexpr std::size_t padded(std::size_t n) noexcept { return (n + 3) / 4 * 4; }

// Older processors lack the instruction.
std::size_t count_ones(std::uint64_t x) noexcept {
  x -= x >> 1 & 0x5555555555555555;
  x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return x * 0x0101010101010101 >> 56;
}

bool parse_runs(const std::uint8_t* p, std::size_t n, int m, Lanes lanes) noexcept {
  // Bit j of byte i: place 8 i + j begins a run. Bytes of eight places avoid store-to-load stalls.
  std::uint8_t changes[kGroup / 8] = {};
  int at = 0, length = 0;
  bool first = true;
  for (std::size_t i = 0; i < n; ++i) {
    length += p[i];
    if (p[i] == 255) {
      if (i + 1 == n) return false;
      continue;
    }
    if (length == 0 && !first) return false;
    if (length >= m - at) return false;
    at += length;
    changes[at / 8] = static_cast<std::uint8_t>(changes[at / 8] | 1 << (at % 8));
    length = 0;
    first = false;
  }
  if (n == 0) return false;
  // Runs within words first, which the compiler vectorises.
  std::uint64_t within[kBlocks / 2];
  for (int i = 0; i < kBlocks / 2; ++i) {
    auto x = load<std::uint64_t>(changes + 8 * i);
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    within[i] = x ^ x << 32;
  }
  std::uint64_t inside = 0;  // all ones: the last run so far has exceptions
  for (int i = 0; i < kBlocks / 2; ++i) {
    const std::uint64_t x = within[i] ^ inside;
    inside = 0 - (x >> 63);
    lanes[2 * i] = static_cast<std::uint32_t>(x);
    lanes[2 * i + 1] = static_cast<std::uint32_t>(x >> 32);
  }
  if (m < kGroup)
    for (int b = m / kBlock; b < kBlocks; ++b) lanes[b] &= lanes_below(b, m);
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

// at[1] to at[count]: places that differ from the place before (place 0: from no exception). at[0] is 0. After more
// than 255 the search may end.
struct ExceptionChanges {
  std::uint16_t at[1 + kGroup + kBlock];
  std::size_t count;
};

// Lanes take at most 140 bytes, so longer runs are never chosen.
constexpr std::size_t kMostRuns = 255;

void find_changes(const Lanes lanes, int m, ExceptionChanges* changes) noexcept {
  std::uint16_t* const at = changes->at + 1;
  changes->at[0] = 0;
  std::size_t n = 0;
  std::uint64_t before = 0;
  for (int i = 0; i < kBlocks / 2 && n <= kMostRuns; ++i) {
    const std::uint64_t x = lanes[2 * i] | static_cast<std::uint64_t>(lanes[2 * i + 1]) << 32;
    std::uint64_t left = x ^ (x << 1 | before);
    before = x >> 63;
    const std::size_t count = count_ones(left);
    const auto next = [&](std::size_t k) {
      at[n + k] = static_cast<std::uint16_t>(64 * i + std::countr_zero(left | std::uint64_t{1} << 63));
      left &= left - 1;
    };
    // Always at least four: a loop count would be mispredicted.
    for (std::size_t k = 0; k < 4; ++k) next(k);
    for (std::size_t k = 4; k < count; ++k) next(k);
    n += count;
  }
  changes->count = n > 0 && at[n - 1] == m ? n - 1 : n;
}

std::size_t write_runs(const ExceptionChanges& found, std::uint8_t* out) noexcept {
  const std::uint16_t* const at = found.at;
  const std::size_t changes = found.count;
  if (changes > kMostRuns) return changes;
  std::int16_t longest = 0;
  for (std::size_t k = 0; k < changes; ++k) {
    const auto length = static_cast<std::int16_t>(at[k + 1] - at[k]);
    longest = std::max(longest, length);
    out[k] = static_cast<std::uint8_t>(length);
  }
  if (longest < 255) return changes;
  std::size_t n = 0;
  for (std::size_t k = 0; k < changes; ++k) {
    int length = at[k + 1] - at[k];
    if (n + static_cast<std::size_t>(length / 255) >= kMostRuns) return kMostRuns + 1;
    for (; length >= 255; length -= 255) out[n++] = 255;
    out[n++] = static_cast<std::uint8_t>(length);
  }
  return n;
}

std::size_t count_mixed(const Lanes lanes, int m) noexcept {
  std::uint32_t n = 0;
  for (int b = 0; b < kBlocks; ++b) n += lanes[b] + 1 > 1;
  const int last = m / kBlock;
  return last < kBlocks && lanes[last] != 0 && lanes[last] == lanes_below(last, m) ? n - 1 : n;
}

std::size_t write_map(const Lanes lanes, int m, const ExceptionChanges& changes, std::uint8_t* out,
                      std::size_t room) noexcept {
  std::uint8_t runs[kMostRuns + 3 + 4];
  const std::size_t n = write_runs(changes, runs);
  const std::size_t by_runs = padded(2 + n), by_lanes = 12 + 4 * count_mixed(lanes, m);
  const bool use_runs = n <= kMostRuns && by_runs <= by_lanes;
  const std::size_t bytes = use_runs ? by_runs : by_lanes;
  if (room < bytes) return 0;
  if (use_runs) {
    out[0] = kRunsBit;
    out[1] = static_cast<std::uint8_t>(n);
    store(runs + n, std::uint32_t{0});
    std::memcpy(out + 2, runs, bytes - 2);
    return bytes;
  }
  std::uint32_t some = 0, all = 0;
  for (int b = 0; b < kBlocks; ++b) {
    some |= static_cast<std::uint32_t>(lanes[b] != 0) << b;
    all |= static_cast<std::uint32_t>(lanes[b] != 0 && lanes[b] == lanes_below(b, m)) << b;
  }
  store(out, std::uint32_t{0});
  store(out + 4, some);
  store(out + 8, all);
  std::uint8_t* p = out + 12;
  for (std::uint32_t left = some & ~all; left; left &= left - 1, p += 4) store(p, lanes[std::countr_zero(left)]);
  return bytes;
}

}  // namespace

std::size_t parse_exception_map(const std::uint8_t* p, std::size_t left, int m, std::uint8_t* kind,
                                Lanes lanes) noexcept {
  if (left < 4) return 0;
  *kind = p[0];
  if (!is_exception_kind(*kind)) return 0;
  std::size_t taken = 0;
  if (!(*kind & kRunsBit)) return p[1] == 0 && parse_lanes(p, left, m, lanes, &taken) ? taken : 0;
  taken = padded(2 + std::size_t{p[1]});
  if (left < taken || !parse_runs(p + 2, p[1], m, lanes)) return 0;
  for (std::size_t i = 2 + std::size_t{p[1]}; i < taken; ++i)
    if (p[i]) return 0;
  return taken;
}

std::size_t write_exception_map(const Lanes lanes, int m, std::uint8_t* out, std::size_t room) noexcept {
  ExceptionChanges changes;
  find_changes(lanes, m, &changes);
  return write_map(lanes, m, changes, out, room);
}

std::size_t copy_exception_runs(const GroupView& from, std::uint8_t* out, std::size_t room) noexcept {
  if (!from.runs || from.runs_bytes > 12 + 4 * count_mixed(from.lanes, from.m) || room < from.runs_bytes) return 0;
  std::memcpy(out, from.runs, from.runs_bytes);
  out[0] = kRunsBit;
  return from.runs_bytes;
}

const std::uint8_t* quiet_nan_bytes(std::size_t size) noexcept {
  static constexpr std::uint8_t kFloat32[4] = {0, 0, 0xc0, 0x7f};
  static constexpr std::uint8_t kFloat64[8] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
  return size == 4 ? kFloat32 : kFloat64;
}

}  // namespace stretto::codec
