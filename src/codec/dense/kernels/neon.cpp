#include "codec/dense/kernels/neon.hpp"

#if defined(__aarch64__)
#include <bit>
#include <type_traits>

#include "codec/dense/kernels/neon_bits.hpp"
#include "codec/dense/kernels/shuffles.hpp"

namespace stretto::codec::dense::neon {
namespace {

constexpr int kMost = 30;              // even and below 32: symbols are decoded by twos
constexpr int kWithSlack = kMost + 6;  // planes, which are read by fours

constexpr Shuffles kShuffles = make_shuffles();

inline uint8x16_t row(const std::uint8_t (&table)[256][16], std::uint32_t mask) noexcept {
  return vld1q_u8(table[mask & 255]);
}

struct Set {
  uint32x4_t of[8];
};
using Wide = Set;
inline void load_set(const States& s, int set, Set* x) noexcept {
  for (int i = 0; i < 4; ++i) {
    const uint16x8_t low = vld1q_u16(s.low[set] + 8 * i), high = vld1q_u16(s.high[set] + 8 * i);
    x->of[2 * i] = vreinterpretq_u32_u16(vzip1q_u16(low, high));
    x->of[2 * i + 1] = vreinterpretq_u32_u16(vzip2q_u16(low, high));
  }
}
inline uint16x8_t low_words(uint32x4_t first, uint32x4_t second) noexcept {
  return vuzp1q_u16(vreinterpretq_u16_u32(first), vreinterpretq_u16_u32(second));
}
inline void store_set(const Set& x, States* s, int set) noexcept {
  for (int i = 0; i < 4; ++i) {
    vst1q_u16(s->low[set] + 8 * i, low_words(x.of[2 * i], x.of[2 * i + 1]));
    vst1q_u16(s->high[set] + 8 * i,
              vuzp2q_u16(vreinterpretq_u16_u32(x.of[2 * i]), vreinterpretq_u16_u32(x.of[2 * i + 1])));
  }
}

// Masks of lanes in 32 bits, with the number of lanes in each eight and before its end, a byte each.
struct Eights {
  std::uint32_t bits, counts;
  std::uint32_t eight(int i) const noexcept { return bits >> 8 * i & 255; }
  std::uint32_t before(int i) const noexcept { return i ? counts >> (8 * i - 8) & 255 : 0; }
  std::uint32_t all() const noexcept { return counts >> 24; }
};
inline Eights eights_of(const uint32x4_t (&mask)[8]) noexcept {
  Lanes lanes;
  for (int i = 0; i < 2; ++i)
    lanes.of[i] = vuzp1q_u8(vreinterpretq_u8_u16(low_words(mask[4 * i], mask[4 * i + 1])),
                            vreinterpretq_u8_u16(low_words(mask[4 * i + 2], mask[4 * i + 3])));
  const uint32x2_t bits = bits_of(lanes, lanes);
  const uint32x2_t counts = vreinterpret_u32_u8(vcnt_u8(vreinterpret_u8_u32(bits)));
  return {vget_lane_u32(bits, 0), vget_lane_u32(counts, 0) * 0x01010101u};
}

// Bit planes of the classes follow from the parities of `at`, of which those up to a value's class are set.
inline void store_classes(uint32x4_t parities, const std::uint32_t* at, int width, std::uint8_t* classes) noexcept {
  const uint64x2_t pairs = vreinterpretq_u64_u32(parities);  // of at[k]: k mod 4 is 2, 3, 0, 1
  const std::uint64_t even = vgetq_lane_u64(pairs, 1), both = vgetq_lane_u64(pairs, 0) ^ even;
  const Lanes one = lanes_of(static_cast<std::uint32_t>(both ^ both >> 32) ^ at[1]);
  const Lanes two = lanes_of(static_cast<std::uint32_t>(both)), four = lanes_of(static_cast<std::uint32_t>(even));
  Lanes each;
  for (int i = 0; i < 2; ++i) {
    each.of[i] = vsliq_n_u8(vsliq_n_u8(one.of[i], two.of[i], 1), four.of[i], 2);
    each.of[i] = vandq_u8(each.of[i], vdupq_n_u8(7));
  }
  if (width >= 8) {
    const Lanes eight = lanes_of(at[8] ^ at[16] ^ at[24]), sixteen = lanes_of(at[16]);
    for (int i = 0; i < 2; ++i)
      each.of[i] =
          vorrq_u8(each.of[i], vandq_u8(vsliq_n_u8(vshrq_n_u8(eight.of[i], 4), sixteen.of[i], 4), vdupq_n_u8(24)));
  }
  vst1q_u8(classes, each.of[0]);
  vst1q_u8(classes + 16, each.of[1]);
}

inline void count_widths(const Widths& widths, std::uint32_t* counts) noexcept {
  const uint8x16_t first = vld1q_u8(widths.of), second = vld1q_u8(widths.of + 16);
  for (int w = 0; w <= widths.widest; ++w) {
    const uint8x16_t same = vdupq_n_u8(static_cast<std::uint8_t>(w));
    const uint8x16_t found = vaddq_u8(vceqq_u8(first, same), vceqq_u8(second, same));
    counts[w] -= static_cast<std::uint32_t>(vaddvq_s8(vreinterpretq_s8_u8(found)));
  }
}

inline void scan_planes(const std::uint8_t* planes, int width, bool is_unsigned, std::uint8_t* classes,
                        std::uint32_t* at_least, BitWriter* low) noexcept {
  std::uint32_t z[kWithSlack] = {}, at[kWithSlack] = {};
  const std::uint32_t sign = is_unsigned ? 0 : load<std::uint32_t>(planes + 4 * (width - 1));
  const std::uint8_t* from = planes + 4 * (width - 1 - !is_unsigned);
  std::uint32_t above = 0;
  for (int k = width; k >= 2; --k, from -= 4) {
    z[k - 1] = load<std::uint32_t>(from) ^ sign;
    at[k] = above |= z[k - 1];
  }
  z[0] = is_unsigned ? load<std::uint32_t>(planes) : sign;
  at[1] = above | z[0];
  at_least[0] += static_cast<std::uint32_t>(std::popcount(at[1]));
  uint32x4_t parities = vdupq_n_u32(0);
  std::uint32_t bits[kWithSlack], counts[kWithSlack];
  for (int k = 2; k <= width; k += 4) {
    const uint32x4_t mask = vld1q_u32(at + k);
    const Fours r = gather(vld1q_u32(z + k - 2), mask);
    parities = veorq_u32(parities, mask);
    vst1q_u32(at_least + k - 1, vaddq_u32(vld1q_u32(at_least + k - 1), r.counts));
    vst1q_u32(bits + k, r.bits);
    vst1q_u32(counts + k, r.counts);
  }
  store_classes(parities, at, width, classes);
  BitWriter out = *low;
  for (int k = 2; k <= width; ++k) out.put(bits[k], static_cast<int>(counts[k]));
  *low = out;
}

// Entries of a table at 4 s to 4 s + 3, in each lane, for a symbol s below kSymbols.
template <int kSymbols>
struct Entries {
  static constexpr int kVectors = kSymbols == 32 ? 2 : 1;
  std::conditional_t<kSymbols == 8, uint8x16x2_t, uint8x16x4_t> bytes[kVectors];
  template <class Change>
  Entries(const std::uint32_t* table, const Change& change) noexcept {
    for (int i = 0; i < kVectors; ++i)
      for (int j = 0; j < kSymbols / kVectors / 4; ++j)
        bytes[i].val[j] = vreinterpretq_u8_u32(change(vld1q_u32(table + 16 * i + 4 * j)));
  }
  uint32x4_t at(uint8x16_t places) const noexcept {
    uint8x16_t found;
    if constexpr (kSymbols == 8)
      found = vqtbl2q_u8(bytes[0], places);
    else
      found = vqtbl4q_u8(bytes[0], places);
    if constexpr (kSymbols == 32) found = vqtbx4q_u8(found, bytes[1], vsubq_u8(places, vdupq_n_u8(64)));
    return vreinterpretq_u32_u8(found);
  }
};

// Inverses (Table) are halved: lanes are signed and products doubled.
template <int kSymbols>
inline std::uint8_t* put_step(const Table& t, const std::uint8_t* symbols, Wide& x, std::uint8_t* out) noexcept {
  const Entries<kSymbols> parts(t.parts, [](uint32x4_t v) { return v; });
  const Entries<kSymbols> inverses(t.inverse,
                                   [](uint32x4_t v) { return vminq_u32(vrshrq_n_u32(v, 1), vdupq_n_u32(0x7fffffff)); });
  const uint32x4_t low13 = vdupq_n_u32((1 << 13) - 1);
  const uint8x16_t byte_of_lane = vreinterpretq_u8_u32(vdupq_n_u32(0x03020100));
  const uint8x16_t quarter = vreinterpretq_u8_u32(uint32x4_t{0, 0x01010101, 0x02020202, 0x03030303});
  uint8x16_t places[8];
  uint32x4_t part[8], over[8];
  for (int i = 0; i < 8; ++i) {
    const uint8x16_t which = vaddq_u8(quarter, vdupq_n_u8(static_cast<std::uint8_t>(i % 4 * 4)));
    const uint8x16_t spread = vqtbl1q_u8(vld1q_u8(symbols + i / 4 * 16), which);
    places[i] = vmlaq_u8(byte_of_lane, spread, vdupq_n_u8(4));
    part[i] = parts.at(places[i]);
    over[i] = vcgeq_u32(vshrq_n_u32(x.of[i], 16), vandq_u32(vshrq_n_u32(part[i], 13), low13));
  }
  const Eights eights = eights_of(over);
  for (int i = 0; i < 4; ++i) {
    const uint8x16_t words = vreinterpretq_u8_u16(low_words(x.of[2 * i], x.of[2 * i + 1]));
    vst1q_u8(out + 2 * eights.before(i), vqtbl1q_u8(words, row(kShuffles.together, eights.eight(i))));
  }
  for (int i = 0; i < 8; ++i) {
    const uint32x4_t y = vbslq_u32(over[i], vshrq_n_u32(x.of[i], 16), x.of[i]);
    const int32x4_t inverse = vreinterpretq_s32_u32(inverses.at(places[i]));
    const uint32x4_t product = vreinterpretq_u32_s32(vqdmulhq_s32(vreinterpretq_s32_u32(y), inverse));
    const uint32x4_t q = vshlq_u32(product, vnegq_s32(vreinterpretq_s32_u32(vshrq_n_u32(part[i], 26))));
    const uint32x4_t others = vsubq_u32(vdupq_n_u32(kOne), vandq_u32(vshrq_n_u32(part[i], 13), low13));
    x.of[i] = vmlaq_u32(vaddq_u32(y, vandq_u32(part[i], low13)), q, others);
  }
  return out + 2 * eights.all();
}

inline std::uint8_t* put(const Table& t, int last, const std::uint8_t* symbols, int set, Wide& x, States* states,
                         std::uint8_t* out) noexcept {
  if (last < 8) return put_step<8>(t, symbols, x, out);
  if (last < 16) return put_step<16>(t, symbols, x, out);
  if (last <= kMost) return put_step<32>(t, symbols, x, out);
  store_set(x, states, set);
  out = encode_step(t, symbols, set, states, out);
  load_set(*states, set, &x);
  return out;
}

struct Slots {
  uint16x8_t of[4];
};
inline Slots slots_of(const Set& x) noexcept {
  Slots s;
  for (int i = 0; i < 4; ++i) s.of[i] = vandq_u16(low_words(x.of[2 * i], x.of[2 * i + 1]), vdupq_n_u16(kOne - 1));
  return s;
}
inline Lanes lanes_from(const Slots& s, const std::uint16_t* start) noexcept {
  const uint16x8_t from = vld1q_dup_u16(start);
  Lanes r;
  for (int i = 0; i < 2; ++i)
    r.of[i] = vuzp1q_u8(vreinterpretq_u8_u16(vcgeq_u16(s.of[2 * i], from)),
                        vreinterpretq_u8_u16(vcgeq_u16(s.of[2 * i + 1], from)));
  return r;
}

// Sets `symbols`, and in at[k], k > 0, a bit for each lane of symbol k or more. May set at[last + 1], to 0.
template <bool kAt>
inline void find_symbols(const Slots& s, const Table& t, int last, Lanes& symbols, std::uint32_t* at) noexcept {
  symbols.of[0] = symbols.of[1] = vdupq_n_u8(0);
  for (int k = 1; k <= last; k += 2) {
    const Lanes a = lanes_from(s, t.start + k), b = lanes_from(s, t.start + k + 1);
    for (int i = 0; i < 2; ++i) symbols.of[i] = vsubq_u8(vsubq_u8(symbols.of[i], a.of[i]), b.of[i]);
    if constexpr (kAt) vst1_u32(at + k, bits_of(a, b));
  }
}

template <int kSymbols>
struct ShortEntries {
  std::conditional_t<kSymbols == 16, uint8x16x2_t, uint8x16x4_t> bytes;
  explicit ShortEntries(const std::uint16_t* table) noexcept {
    for (int i = 0; i < kSymbols / 8; ++i) bytes.val[i] = vreinterpretq_u8_u16(vld1q_u16(table + 8 * i));
  }
  uint16x8_t at(uint8x16_t places) const noexcept {
    if constexpr (kSymbols == 16)
      return vreinterpretq_u16_u8(vqtbl2q_u8(bytes, places));
    else
      return vreinterpretq_u16_u8(vqtbl4q_u8(bytes, places));
  }
};

template <int kSymbols>
inline const std::uint8_t* advance(const Table& t, const Lanes& symbols, const Slots& s, Set& x,
                                   const std::uint8_t* words) noexcept {
  const ShortEntries<kSymbols> frequency(t.frequency), start(t.start);
  uint32x4_t next[8], under[8];
  for (int i = 0; i < 4; ++i) {
    const uint8x16_t twice = vaddq_u8(symbols.of[i / 2], symbols.of[i / 2]), other = vaddq_u8(twice, vdupq_n_u8(1));
    const uint8x16_t places = i % 2 ? vzip2q_u8(twice, other) : vzip1q_u8(twice, other);
    const uint16x8_t f = frequency.at(places), offset = vsubq_u16(s.of[i], start.at(places));
    const uint16x8_t above = vshrn_high_n_u32(vshrn_n_u32(x.of[2 * i], 12), x.of[2 * i + 1], 12);
    next[2 * i] = vaddw_u16(vmull_u16(vget_low_u16(f), vget_low_u16(above)), vget_low_u16(offset));
    next[2 * i + 1] = vaddw_high_u16(vmull_high_u16(f, above), offset);
    for (int j = 2 * i; j < 2 * i + 2; ++j) under[j] = vcltq_u32(next[j], vdupq_n_u32(kLeastState));
  }
  const Eights eights = eights_of(under);
  words -= 2 * eights.all();
  for (int i = 0; i < 4; ++i) {
    const uint16x8_t taken =
        vreinterpretq_u16_u8(vqtbl1q_u8(vld1q_u8(words + 2 * eights.before(i)), row(kShuffles.apart, eights.eight(i))));
    const uint16x8_t low = low_words(next[2 * i], next[2 * i + 1]);
    x.of[2 * i] = vbslq_u32(under[2 * i], vreinterpretq_u32_u16(vzip1q_u16(taken, low)), next[2 * i]);
    x.of[2 * i + 1] = vbslq_u32(under[2 * i + 1], vreinterpretq_u32_u16(vzip2q_u16(taken, low)), next[2 * i + 1]);
  }
  return words;
}
inline const std::uint8_t* advance(const Table& t, int last, const Lanes& symbols, const Slots& s, Set& x,
                                   const std::uint8_t* words) noexcept {
  return last < 16 ? advance<16>(t, symbols, s, x, words) : advance<32>(t, symbols, s, x, words);
}

inline const std::uint8_t* take_symbols(const Table& t, int last, Set& x, const std::uint8_t* words,
                                        std::uint8_t* symbols) noexcept {
  const Slots s = slots_of(x);
  Lanes found;
  find_symbols<false>(s, t, last, found, nullptr);
  vst1q_u8(symbols, found.of[0]);
  vst1q_u8(symbols + 16, found.of[1]);
  return advance(t, last, found, s, x, words);
}

struct LowBits {
  const std::uint8_t* p;
  std::uint64_t at;
};
constexpr std::ptrdiff_t kLowReach = 4 * (kMost - 1) + 16;

// With any bits above the first n.
inline std::uint32_t take_bits(LowBits& low, std::uint32_t n) noexcept {
  const std::uint64_t v = load<std::uint64_t>(low.p + low.at / 8) >> (low.at % 8);
  low.at += n;
  return static_cast<std::uint32_t>(v);
}

inline void put_planes(const std::uint32_t* at, int width, bool is_unsigned, LowBits& low,
                       std::uint8_t* planes) noexcept {
  uint32x4_t sign = vdupq_n_u32(0);
  std::uint8_t* to = planes;
  for (int k = 2; k <= width; k += 4) {
    const uint32x4_t mask = vld1q_u32(at + k), top = veorq_u32(vld1q_u32(at + k - 1), mask);
    std::uint32_t counts[4];
    vst1q_u32(counts, vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u32(mask)))));
    uint32x4_t bits = vdupq_n_u32(take_bits(low, counts[0]));
    bits = vsetq_lane_u32(take_bits(low, counts[1]), bits, 1);
    bits = vsetq_lane_u32(take_bits(low, counts[2]), bits, 2);
    bits = vsetq_lane_u32(take_bits(low, counts[3]), bits, 3);
    uint32x4_t z = vorrq_u32(spread(bits, mask), top);
    if (!is_unsigned && k == 2) {
      sign = vdupq_laneq_u32(z, 0);
      z = vextq_u32(z, z, 1);
    }
    vst1q_u8(to, vreinterpretq_u8_u32(veorq_u32(z, sign)));
    to += !is_unsigned && k == 2 ? 12 : 16;
  }
  if (is_unsigned || width == 1) {
    store(planes + 4 * (width - 1), at[width]);
  } else {
    store(planes + 4 * (width - 2), at[width] ^ vgetq_lane_u32(sign, 0));
    store(planes + 4 * (width - 1), vgetq_lane_u32(sign, 0));
  }
}

inline const std::uint8_t* take_block(const Table& t, int width, bool is_unsigned, Set& x, const std::uint8_t* words,
                                      LowBits& low, std::uint8_t* planes) noexcept {
  std::uint32_t at[kWithSlack] = {};
  const Slots s = slots_of(x);
  Lanes classes;
  find_symbols<true>(s, t, width, classes, at);
  put_planes(at, width, is_unsigned, low, planes);
  return advance(t, width, classes, s, x, words);
}

}  // namespace

#include "codec/dense/kernels/groups-inl.h"

}  // namespace stretto::codec::dense::neon
#endif
