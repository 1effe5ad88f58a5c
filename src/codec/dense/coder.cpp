#include "codec/dense/coder.hpp"

#include <bit>
#include <cstring>

namespace stretto::codec::dense {
namespace {

// The bits of `v` at the places of `mask`, together; and the inverse.
std::uint32_t gather(std::uint32_t v, std::uint32_t mask) noexcept {
  std::uint32_t bits = 0;
  for (int n = 0; mask; mask &= mask - 1, ++n) bits |= (v >> std::countr_zero(mask) & 1) << n;
  return bits;
}
std::uint32_t spread(std::uint32_t bits, std::uint32_t mask) noexcept {
  std::uint32_t v = 0;
  for (; mask; mask &= mask - 1, bits >>= 1) v |= (bits & 1) << std::countr_zero(mask);
  return v;
}

// By halves of halves (Warren, Hacker's Delight, section 7-3).
void transpose(std::uint32_t (&m)[32]) noexcept {
  std::uint32_t mask = 0x0000ffff;
  for (int n = 16; n > 0; n /= 2, mask ^= mask << n)
    for (int i = 0; i < 32; i += 2 * n)
      for (int k = i; k < i + n; ++k) {
        const std::uint32_t moved = (m[k] >> n ^ m[k + n]) & mask;
        m[k] ^= moved << n;
        m[k + n] ^= moved;
      }
}

bool has(std::uint64_t set, int w) noexcept { return set >> (w - 1) & 1; }

}  // namespace

void start(States* s) noexcept {
  for (int set = 0; set < kMaxSets; ++set)
    for (int j = 0; j < kLanes; ++j) {
      s->low[set][j] = static_cast<std::uint16_t>(kLeastState);
      s->high[set][j] = 0;
    }
}

bool ended(const States& s, int sets) noexcept {
  for (int set = 0; set < sets; ++set)
    for (int j = 0; j < kLanes; ++j)
      if (s.low[set][j] != kLeastState || s.high[set][j] != 0) return false;
  return true;
}

void write_states(const States& s, int sets, std::uint8_t* out) noexcept {
  for (int set = 0; set < sets; ++set, out += kStateBytes) {
    std::uint32_t x[kLanes];
    for (int j = 0; j < kLanes; ++j) x[j] = s.low[set][j] | std::uint32_t{s.high[set][j]} << 16;
    transpose(x);
    for (int i = 0; i < kStateBits; ++i) store(out + 4 * i, x[i]);
  }
}

bool read_states(const std::uint8_t* p, int sets, States* s) noexcept {
  bool valid = true;
  for (int set = 0; set < sets; ++set, p += kStateBytes) {
    std::uint32_t x[kLanes] = {};
    for (int i = 0; i < kStateBits; ++i) x[i] = load<std::uint32_t>(p + 4 * i);
    transpose(x);
    for (int j = 0; j < kLanes; ++j) {
      valid &= x[j] >= kLeastState;
      s->low[set][j] = static_cast<std::uint16_t>(x[j]);
      s->high[set][j] = static_cast<std::uint16_t>(x[j] >> 16);
    }
  }
  return valid;
}

void scan_block(const std::uint8_t* planes, int width, bool is_unsigned, std::uint8_t* classes, Counts* counts,
                BitWriter* low) noexcept {
  std::uint32_t z[kMaxWidth];
  std::uint32_t at[kMaxWidth + 2];
  const std::uint32_t sign = is_unsigned ? 0 : load<std::uint32_t>(planes + 4 * (width - 1));
  for (int i = 0; i < width; ++i)
    z[i] = is_unsigned ? load<std::uint32_t>(planes + 4 * i)
           : i         ? load<std::uint32_t>(planes + 4 * (i - 1)) ^ sign
                       : sign;
  at[width + 1] = 0;
  for (int k = width; k >= 1; --k) at[k] = at[k + 1] | z[k - 1];
  std::memset(classes, 0, kLanes);
  for (int k = 1; k <= width; ++k) {
    counts->at_least[0][width][k - 1] += static_cast<std::uint32_t>(std::popcount(at[k]));
    for (int j = 0; j < kLanes; ++j) classes[j] = static_cast<std::uint8_t>(classes[j] + (at[k] >> j & 1));
    if (k >= 2) low->put(gather(z[k - 2], at[k]), std::popcount(at[k]));
  }
  ++counts->blocks[width];
}

void scan(const std::uint8_t* planes, const Widths& widths, bool is_unsigned, std::uint8_t* classes, Counts* counts,
          BitWriter* low) noexcept {
  for (int b = 0; b < kBlocks; ++b, classes += kLanes) {
    const int width = widths.of[b];
    ++counts->widths[widths.widest][width];
    if (width) scan_block(planes, width, is_unsigned, classes, counts, low);
    planes += 4 * width;
  }
}

std::uint8_t* encode_step(const Table& t, const std::uint8_t* symbols, int set, States* states,
                          std::uint8_t* out) noexcept {
  for (int j = 0; j < kLanes; ++j) {
    const std::uint32_t f = t.frequency[symbols[j]];
    std::uint32_t x = states->low[set][j] | std::uint32_t{states->high[set][j]} << 16;
    if (x >> 16 >= f) {
      store(out, static_cast<std::uint16_t>(x));
      out += 2;
      x >>= 16;
    }
    x = x / f * kOne + t.start[symbols[j]] + x % f;
    states->low[set][j] = static_cast<std::uint16_t>(x);
    states->high[set][j] = static_cast<std::uint16_t>(x >> 16);
  }
  return out;
}

std::uint8_t* encode(const Widths* groups, int n, const std::uint8_t* classes, const Tables& tables, int sets,
                     States* states, std::uint8_t* out) noexcept {
  for (int g = n - 1; g >= 0; --g) {
    const Widths& w = groups[g];
    if (w.widest == 0) continue;
    for (int b = kBlocks - 1; b >= 0; --b)
      if (w.of[b])
        out = encode_step(tables.classes[w.of[b]], classes + kGroup * g + kLanes * b, b & (sets - 1), states, out);
    out = encode_step(tables.widths[w.widest], w.of, 0, states, out);
  }
  return out;
}

bool decode_step(Decoder* d, const Table& t, int last, int set, std::uint8_t* symbols) noexcept {
  std::uint32_t x[kLanes];
  std::ptrdiff_t taken = 0;
  for (int j = 0; j < kLanes; ++j) {
    x[j] = d->states.low[set][j] | std::uint32_t{d->states.high[set][j]} << 16;
    const std::uint32_t slot = x[j] & (kOne - 1);
    int s = 0;
    while (s < last && t.start[s + 1] <= slot) ++s;
    symbols[j] = static_cast<std::uint8_t>(s);
    x[j] = t.frequency[s] * (x[j] >> kProbabilityBits) + slot - t.start[s];
    taken += x[j] < kLeastState;
  }
  if (d->words - d->floor < 2 * taken) return false;
  d->words -= 2 * taken;
  const std::uint8_t* from = d->words;
  for (int j = 0; j < kLanes; ++j) {
    if (x[j] < kLeastState) {
      x[j] = x[j] << 16 | load<std::uint16_t>(from);
      from += 2;
    }
    d->states.low[set][j] = static_cast<std::uint16_t>(x[j]);
    d->states.high[set][j] = static_cast<std::uint16_t>(x[j] >> 16);
  }
  return true;
}

bool read_block(Decoder* d, const std::uint8_t* classes, int width, bool is_unsigned, std::uint8_t* planes) noexcept {
  std::uint32_t at[kMaxWidth + 2] = {}, z[kMaxWidth] = {};
  for (int j = 0; j < kLanes; ++j)
    for (int k = 1; k <= classes[j]; ++k) at[k] |= 1u << j;
  for (int k = 1; k <= width; ++k) z[k - 1] = at[k] & ~at[k + 1];
  for (int k = 2; k <= width; ++k) {
    const int n = std::popcount(at[k]);
    if (d->bits - d->bit < static_cast<std::uint64_t>(n)) return false;
    std::uint64_t v = 0;
    for (std::uint64_t i = d->bit / 8, shift = 0; i < (d->bit + static_cast<std::uint64_t>(n) + 7) / 8; ++i, shift += 8)
      v |= std::uint64_t{d->low[i]} << shift;
    z[k - 2] |= spread(static_cast<std::uint32_t>(v >> d->bit % 8), at[k]);
    d->bit += static_cast<std::uint64_t>(n);
  }
  for (int i = 0; i < width; ++i) {
    const std::uint32_t plane = is_unsigned ? z[i] : i + 1 < width ? z[i + 1] ^ z[0] : z[0];
    store(planes + 4 * i, plane);
  }
  return true;
}

std::size_t decode(Decoder* d, int widest, bool is_unsigned, std::uint8_t* planes, std::uint8_t* widths) noexcept {
  if (widest > d->tables->widest || !has(d->tables->have_widths, widest)) return kMalformed;
  if (!decode_step(d, d->tables->widths[widest], widest, 0, widths)) return kMalformed;
  std::uint8_t* p = planes;
  for (int b = 0; b < kBlocks; ++b) {
    const int width = widths[b];
    if (width == 0) continue;
    std::uint8_t classes[kLanes];
    if (!has(d->tables->have_classes, width) ||
        !decode_step(d, d->tables->classes[width], width, b & (d->sets - 1), classes) ||
        !read_block(d, classes, width, is_unsigned, p))
      return kMalformed;
    p += 4 * width;
  }
  return static_cast<std::size_t>(p - planes);
}

}  // namespace stretto::codec::dense
