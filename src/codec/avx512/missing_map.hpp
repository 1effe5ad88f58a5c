// A full group's map of missing places, without a branch on a place.
#pragma once

#include <bit>
#include <cstring>

#include "codec/avx512/planes.hpp"
#include "codec/numbers/exact.hpp"
#include "codec/stream/exception_map.hpp"

namespace stretto::codec::avx512 {

struct MapTables {
  alignas(64) std::uint8_t place[64];

  constexpr MapTables() noexcept : place() {
    for (int i = 0; i < 64; ++i) place[i] = static_cast<std::uint8_t>(i);
  }
};
inline constexpr MapTables kMapTables{};

STRETTO_AVX512_BEGIN

constexpr std::size_t padded_map(std::size_t n) noexcept { return (n + 3) / 4 * 4; }

// GCC 12 may spill the mask's 8 or 16 bits and read 32 back, where calls come between (as under ThreadSanitizer).
template <class Mask>
STRETTO_INLINE std::uint32_t bits_of(Mask mask) noexcept {
  std::uint32_t bits = mask;
  asm("" : "+r"(bits));
  return bits;
}

// Loads wait long for the upper half of a store of 64 bytes.
STRETTO_INLINE void store_halves(void* p, __m512i v0, __m512i v1) noexcept {
  auto* const at = static_cast<__m256i*>(p);
  _mm256_storeu_si256(at, _mm512_castsi512_si256(v0));
  _mm256_storeu_si256(at + 1, _mm512_extracti64x4_epi64(v0, 1));
  _mm256_storeu_si256(at + 2, _mm512_castsi512_si256(v1));
  _mm256_storeu_si256(at + 3, _mm512_extracti64x4_epi64(v1, 1));
}

STRETTO_INLINE std::uint32_t ones_of(__m512i v0, __m512i v1) noexcept {
  const __m512i words = _mm512_add_epi16(_mm512_popcnt_epi16(v0), _mm512_popcnt_epi16(v1));
  return static_cast<std::uint32_t>(_mm512_reduce_add_epi32(_mm512_madd_epi16(words, _mm512_set1_epi16(1))));
}

inline constexpr std::size_t kMapRoom = 288, kMostMapBytes = 140;
// v0 and v1 are the lanes; some are set. Returns the bytes, at most kMostMapBytes; may touch kMapRoom.
STRETTO_INLINE std::size_t write_missing_map(__m512i v0, __m512i v1, std::uint8_t* p) noexcept {
  const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi32(1);
  // Places that differ from the place before.
  const __m512i d0 = _mm512_xor_si512(v0, _mm512_shldi_epi32(v0, _mm512_alignr_epi32(v0, zero, 15), 1));
  const __m512i d1 = _mm512_xor_si512(v1, _mm512_shldi_epi32(v1, _mm512_alignr_epi32(v1, v0, 15), 1));
  const std::uint32_t changing = bits_of(_mm512_test_epi32_mask(d0, d0)) | bits_of(_mm512_test_epi32_mask(d1, d1))
                                                                               << 16;
  const __mmask16 mixed0 = _mm512_cmpgt_epu32_mask(_mm512_add_epi32(v0, one), one),
                  mixed1 = _mm512_cmpgt_epu32_mask(_mm512_add_epi32(v1, one), one);
  const std::uint32_t in0 = bits_of(mixed0), in1 = bits_of(mixed1);
  const auto by_lanes = 12 + 4 * static_cast<std::size_t>(_mm_popcnt_u32(in0 | in1 << 16));
  const std::size_t n = ones_of(d0, d1);
  if (padded_map(2 + n) > by_lanes) {
    store(p, std::uint32_t{0});
    store(p + 4, bits_of(_mm512_test_epi32_mask(v0, v0)) | bits_of(_mm512_test_epi32_mask(v1, v1)) << 16);
    store(p + 8, (bits_of(_mm512_test_epi32_mask(v0, v0)) & ~in0) | (bits_of(_mm512_test_epi32_mask(v1, v1)) & ~in1)
                                                                        << 16);
    _mm512_storeu_si512(p + 12, _mm512_maskz_compress_epi32(mixed0, v0));
    _mm512_storeu_si512(p + 12 + 4 * _mm_popcnt_u32(in0), _mm512_maskz_compress_epi32(mixed1, v1));
    return by_lanes;
  }
  alignas(64) std::uint64_t changes[kBlocks / 2];
  store_halves(changes, d0, d1);
  // Places modulo 256, the first run's start before them.
  std::uint8_t places[1 + kGroup / 8 + 16 + 64];
  places[0] = 0;
  std::uint8_t* at = places + 1;
  const __m512i place = _mm512_load_si512(kMapTables.place);
  for (int i = 0; i < kBlocks / 2; ++i) {
    const __m512i here = _mm512_add_epi8(place, _mm512_set1_epi8(static_cast<char>(64 * i)));
    _mm512_storeu_si512(at, _mm512_maskz_compress_epi8(changes[i], here));
    at += _mm_popcnt_u64(changes[i]);
  }
  __m512i sum = zero;
  __mmask64 longest = 0;
  for (std::size_t k = 0; k < n; k += 64) {
    const __mmask64 some = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(n - k < 64 ? n - k : 64));
    const __m512i runs =
        _mm512_maskz_sub_epi8(some, _mm512_loadu_si512(places + 1 + k), _mm512_loadu_si512(places + k));
    sum = _mm512_add_epi64(sum, _mm512_sad_epu8(runs, zero));
    longest |= _mm512_cmpeq_epi8_mask(runs, _mm512_set1_epi8(-1));
    _mm512_storeu_si512(p + 2 + k, runs);
  }
  store(p + 2 + n, std::uint32_t{0});  // padding beyond the vectors of 63, 64, 127 and 128 runs
  // Runs of 255 and more take several bytes; those of 256 and more are missing in the sum.
  const auto quarter = (31 - static_cast<long long>(_lzcnt_u32(changing))) / 8;
  if (longest != 0 || _mm512_reduce_add_epi64(sum) >> 8 != quarter) {
    alignas(64) Lanes lanes;
    store_halves(lanes, v0, v1);
    return write_exception_map(lanes, kGroup, p, 256);
  }
  p[0] = kRunsBit;
  p[1] = static_cast<std::uint8_t>(n);
  return padded_map(2 + n);
}

// Reads the places of a map, n bytes of runs. False if malformed.
STRETTO_INLINE bool read_runs(const std::uint8_t* p, std::size_t n, __m512i* v0, __m512i* v1) noexcept {
  if (n == 0) return false;
  // Bit j of word i: place 64 i + j begins a run.
  alignas(64) std::uint64_t begins[kBlocks / 2];
  _mm512_store_si512(begins, _mm512_setzero_si512());
  _mm512_store_si512(begins + 8, _mm512_setzero_si512());
  std::uint64_t bits = 0;
  std::uint32_t at = 0, word = 0, ends = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t length = p[i], is_end = length != 255;
    at += length;
    ends += is_end;
    const std::uint32_t into = at >> 6 & 15;
    auto same = 0 - static_cast<std::uint64_t>(into == word);
    asm("" : "+r"(same));  // no branch
    bits = (bits & same) | static_cast<std::uint64_t>(is_end) << (at & 63);
    word = into;
    begins[into] = bits;
  }
  if (p[n - 1] == 255 || at >= kGroup) return false;
  __m512i x0 = _mm512_load_si512(begins), x1 = _mm512_load_si512(begins + 8);
  if (ones_of(x0, x1) != ends) return false;  // a run within is empty
  const auto step = [&](int by) {
    x0 = _mm512_xor_si512(x0, _mm512_slli_epi64(x0, static_cast<unsigned>(by)));
    x1 = _mm512_xor_si512(x1, _mm512_slli_epi64(x1, static_cast<unsigned>(by)));
  };
  step(1);
  step(2);
  step(4);
  step(8);
  step(16);
  step(32);
  std::uint32_t odd = bits_of(_mm512_movepi64_mask(x0)) | bits_of(_mm512_movepi64_mask(x1)) << 8;
  odd ^= odd << 1;
  odd ^= odd << 2;
  odd ^= odd << 4;
  odd ^= odd << 8;
  odd <<= 1;  // bit i: the words before word i end within a run of missing places
  const __m512i all = _mm512_set1_epi32(-1);
  *v0 = _mm512_mask_xor_epi64(x0, static_cast<__mmask8>(odd), x0, all);
  *v1 = _mm512_mask_xor_epi64(x1, static_cast<__mmask8>(odd >> 8), x1, all);
  return true;
}

// One value for all missing places: a number, or an exact sum.
struct AlikeValue {
  const std::uint8_t* at;
  std::size_t bytes;
  bool is_sum;
};
// Reads the value behind the map, `map` bytes, of a uniform section. Returns the section's bytes; 0 if malformed.
STRETTO_INLINE std::size_t read_alike_value(const std::uint8_t* p, std::size_t left, std::size_t map, Type type,
                                            AlikeValue* v) noexcept {
  const auto size = static_cast<std::size_t>(value_bytes(type));
  const bool is_sum = p[0] & kSumsBit;
  if (p[0] & kQuietNanBit) {
    *v = {quiet_nan_bytes(size), size, false};
    return map;
  }
  const int sum_words = size == 4 ? ExactSum<float>::kWords : ExactSum<double>::kWords;
  const std::size_t bytes = is_sum ? exact_sum_bytes(p + map, left - map, sum_words) : size;
  *v = {p + map, bytes, is_sum};
  return bytes == 0 || left - map < bytes ? 0 : map + bytes;
}

// Runs and one value, without places.
struct AlikeRuns {
  const std::uint8_t* map;
  std::size_t bytes;
  std::uint32_t count;
  AlikeValue value;
};

// By a vector of the map's first 64 bytes, of which n from byte 2 on are runs. 0: malformed, or the map as lanes may be
// shorter.
STRETTO_INLINE std::uint32_t count_missing(__m512i map, std::size_t n) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  const __mmask64 runs = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(n)) << 2;
  const __m512i lengths = _mm512_maskz_mov_epi8(runs, map);
  const __mmask64 ends = _mm512_mask_cmpneq_epi8_mask(runs, map, _mm512_set1_epi8(-1));
  const __mmask64 empty = _mm512_mask_cmpeq_epi8_mask(runs, map, zero);
  const auto total = static_cast<std::uint32_t>(_mm512_reduce_add_epi64(_mm512_sad_epu8(lengths, zero)));
  if ((empty & ends << 1) != 0 || (ends >> (n + 1) & 1) == 0 || total >= kGroup) return 0;
  std::uint64_t odd = ends << 1;
  for (int by = 1; by < 64; by *= 2) odd ^= odd << by;
  std::uint32_t missing =
      static_cast<std::uint32_t>(_mm512_reduce_add_epi64(_mm512_sad_epu8(_mm512_maskz_mov_epi8(odd, lengths), zero)));
  if (_mm_popcnt_u64(ends) % 2 != 0) missing += kGroup - total;
  if (padded_map(2 + n) <= 12) return missing;
  // Ends modulo 256.
  __m512i at = _mm512_add_epi8(lengths, _mm512_bslli_epi128(lengths, 1));
  at = _mm512_add_epi8(at, _mm512_bslli_epi128(at, 2));
  at = _mm512_add_epi8(at, _mm512_bslli_epi128(at, 4));
  at = _mm512_add_epi8(at, _mm512_bslli_epi128(at, 8));
  const __m512i lanes = _mm512_shuffle_epi8(at, _mm512_set1_epi8(15));
  at = _mm512_add_epi8(at, _mm512_maskz_shuffle_i32x4(0xfff0, lanes, lanes, _MM_SHUFFLE(2, 1, 0, 0)));
  at = _mm512_add_epi8(at, _mm512_maskz_shuffle_i32x4(0xff00, lanes, lanes, _MM_SHUFFLE(1, 0, 0, 0)));
  at = _mm512_add_epi8(at, _mm512_maskz_shuffle_i32x4(0xf000, lanes, lanes, _MM_SHUFFLE(0, 0, 0, 0)));
  // Blocks with an end inside have lanes. A block counts if its first end lies inside: once, or not at all.
  const __m512i block = _mm512_and_si512(at, _mm512_set1_epi8(static_cast<char>(0xe0)));
  const __m512i before = _mm512_alignr_epi8(block, _mm512_alignr_epi32(block, zero, 12), 15);
  const __mmask64 first = _mm512_mask_cmpneq_epi8_mask(ends, block, before);
  const __mmask64 inside = _mm512_mask_test_epi8_mask(first, at, _mm512_set1_epi8(31));
  return padded_map(2 + n) <= 12 + 4 * static_cast<std::size_t>(_mm_popcnt_u64(inside)) ? missing : 0;
}

// False: another section, malformed, or another map than that of `like`.
STRETTO_INLINE std::size_t read_alike_runs(const std::uint8_t* p, std::size_t left, Type type, AlikeRuns* r,
                                           const AlikeRuns* like) noexcept {
  if (left < 4) return 0;
  const std::uint8_t kind = p[0];
  const std::size_t n = p[1], map = padded_map(2 + n);
  if (!is_exception_kind(kind) || (kind & (kRunsBit | kUniformBit)) != (kRunsBit | kUniformBit)) return 0;
  if (n == 0 || map > 64 || left < map) return 0;
  const __mmask64 all = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(map));
  const __m512i bytes = _mm512_maskz_loadu_epi8(all, p);
  if (like) {
    const __m512i others = _mm512_maskz_loadu_epi8(all, like->map);
    if (map != like->bytes || (_mm512_cmpneq_epi8_mask(bytes, others) & ~std::uint64_t{1}) != 0) return 0;
    r->count = like->count;
  } else {
    if (_mm512_test_epi8_mask(bytes, bytes) >> n >> 2 != 0) return 0;  // n may be 62
    r->count = count_missing(bytes, n);
    if (r->count == 0) return 0;
  }
  r->map = p;
  r->bytes = map;
  return read_alike_value(p, left, map, type, &r->value);
}

// parse_exceptions() for a full group.
static inline std::size_t read_missing(const std::uint8_t* p, std::size_t left, Type type, GroupView* g) noexcept {
  if (left < 4 || !is_exception_kind(p[0]) || !(p[0] & kRunsBit)) return parse_exceptions(p, left, type, g);
  const std::size_t n = p[1], map = padded_map(2 + n);
  __m512i v0, v1;
  if (left < map || !read_runs(p + 2, n, &v0, &v1)) return 0;
  for (std::size_t i = 2 + n; i < map; ++i)
    if (p[i]) return 0;
  store_halves(g->lanes, v0, v1);
  g->exception_count = static_cast<int>(ones_of(v0, v1));
  return parse_exception_values(p, left, map, type, g);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
