#include "codec/portable/portable.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/portable/portable.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which sets the target for these headers.
#include "base/highway.hpp"
#include "codec/dense/kernels/avx2.hpp"
#include "codec/dense/kernels/neon.hpp"
#include "codec/portable/decode-inl.h"
#include "codec/portable/encode-inl.h"
#include "codec/portable/filled-inl.h"
#include "codec/portable/marks-inl.h"
#include "codec/portable/plane_sums-inl.h"
#include "codec/portable/wide-inl.h"
#include "codec/stream/part.hpp"

#ifndef STRETTO_PORTABLE_ONCE
#define STRETTO_PORTABLE_ONCE
namespace stretto::codec {
struct Target {
  const char* name;
  const Kernels* kernels;
};
}  // namespace stretto::codec
#endif

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// Declines results that may exceed the room or the raw size.
template <class T>
std::size_t CompressFilled(const T* x, Codes1024& codes, const Missing& missing, std::uint8_t* out) {
  if (sizeof(T) == 8 && missing.count > kGroup / 2 && !missing.alike) return kDeclined;
  const std::size_t words = CompressAs(codes.predictor(), codes, x + kGroup, out, [&](std::uint8_t* p) {
    if (missing.count == 0) return p;
    store(out, load<std::uint32_t>(out) | kExceptionsBit);
    return write_exceptions(x, missing, p);
  });
  return words < 1 + kGroup * sizeof(T) / 4 ? words : kDeclined;
}

template <class T>
HWY_NOINLINE std::size_t CompressChecked(const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally) {
  Codes1024 codes;
  Missing missing;
  if (!codes.check(x, grid, &missing)) return CompressWide(x, kGroup, grid, out, tally);
  const std::size_t words = CompressFilled(x, codes, missing, out);
  if (words == kDeclined) return kDeclined;
  tally->merge({codes.range.bound(), static_cast<std::uint64_t>(missing.count)});
  return words;
}

template <class T>
std::size_t Compress(const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally) {
  Codes1024 codes;
  codes.quantise(x, grid);
  if (!codes.range.good()) return CompressChecked(x, grid, out, tally);
  tally->merge({codes.range.bound(), 0});
  return CompressAs(codes.predictor(), codes, x + kGroup, out, kNothing);
}

template <class T>
std::size_t CompressPart(const T* x, int m, const Grid<T>& grid, std::uint8_t* out, Tally* tally) {
  alignas(64) T values[kGroup];
  std::memcpy(values, x, static_cast<std::size_t>(m) * sizeof(T));
  std::fill(values + m, values + kGroup, values[m - 1]);
  Codes1024 codes;
  codes.quantise(values, grid);
  if (!codes.range.good()) {
    Missing missing;
    if (!codes.check(values, grid, &missing)) return CompressWide(values, m, grid, out, tally);
    if (missing.count > 0) return kDeclined;
  }
  const Predictor predictor = codes.is_small ? settle_part(codes.small.at(), m) : settle_part(codes.large.at(), m);
  const std::size_t words = CompressAs(predictor, codes, nullptr, out, kNothing);
  if (words > most_words<T>(m)) return kDeclined;
  tally->merge({codes.range.bound(), 0});
  return words;
}

std::size_t Add(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words, bool negate_b,
                std::uint8_t* out) {
  if (a_words == 0 && b_words == 0 && !negate_b) return 0;
  PackedGroup ga, gb;
  if (!parse_packed(a, a_words, &ga) || !parse_packed(b, b_words, &gb)) return kDeclined;
  return AddPacked(ga, gb, negate_b, out, kNothing);
}

// Declines unless a and x miss equal places, and x has one value there.
template <class T>
HWY_NOINLINE std::size_t AddAlikeValues(const std::uint8_t* a, std::size_t words, const T* x, Codes1024& codes,
                                        const Missing& missing, double width, std::uint8_t* out, std::size_t room) {
  GroupView va, vx;
  const Lanes& lanes = missing.lanes;
  if (missing.count == 0 || !missing.alike ||
      !parse_group(a, words, kGroup, sizeof(T) == 4 ? Type::f32 : Type::f64, &va) || va.wide ||
      std::memcmp(va.lanes, lanes, sizeof(Lanes)) != 0)
    return kDeclined;
  const PackedGroup ga = packed(va, a + 4 * words);
  const Predictor own = codes.predictor(), result = ga.predictor > own ? ga.predictor : own;
  if (!SumsAreSmall(ga, codes, result)) return kDeclined;
  vx.m = kGroup;
  vx.exceptions = vx.uniform = true;
  vx.exception_count = missing.count;
  std::memcpy(vx.lanes, lanes, sizeof(Lanes));
  vx.values = reinterpret_cast<const std::uint8_t*>(x + first_exception(lanes));
  vx.values_bytes = sizeof(T);
  return AddRow(ga, own, result, codes.small.at(), x + kGroup, out, [&](std::uint8_t* p) {
    store(out, load<std::uint32_t>(out) | kExceptionsBit);
    return write_exception_sums<T>({va, nullptr}, {vx, nullptr}, false, lanes, width, p, EndOfExceptions(out, room),
                                   &WriteSums);
  });
}

template <class T>
HWY_NOINLINE std::size_t AddFilledValues(const std::uint8_t* a, std::size_t words, const T* x, Codes1024& codes,
                                         const Missing& missing, double width, std::uint8_t* out, std::size_t room,
                                         Tally* tally) {
  std::size_t sum = AddAlikeValues(a, words, x, codes, missing, width, out, room);
  if (sum != kDeclined) {
    tally->merge({codes.range.bound(), static_cast<std::uint64_t>(missing.count)});
    return sum;
  }
  std::uint8_t compressed[kKernelRoom];
  const std::size_t n = CompressFilled(x, codes, missing, compressed);
  if (n == kDeclined) return kDeclined;
  sum = AddFilled<T>(a, words, compressed, n, false, width, out, room, tally);
  if (sum != kDeclined) tally->merge({codes.range.bound(), 0});
  return sum;
}

constexpr std::uint32_t kMaybeVerbatim = std::uint32_t{1} << 28;  // second differences of smaller codes fit 31 bits

template <class T>
std::size_t AddValues(const std::uint8_t* a, std::size_t words, const T* x, const Grid<T>& grid, std::uint8_t* out,
                      std::size_t room, Tally* tally) {
  PackedGroup ga;
  const bool plain = parse_packed(a, words, &ga);
  Codes1024 codes;
  codes.quantise(x, grid);
  Missing missing;
  if (!codes.range.good() && !codes.check(x, grid, &missing)) return kDeclined;
  if (!plain || missing.count > 0) return AddFilledValues(a, words, x, codes, missing, grid.width, out, room, tally);
  // Groups of larger codes may be as long as the values, and would be verbatim.
  if (sizeof(T) == 4 && codes.range.bound() >= kMaybeVerbatim) return kDeclined;
  const std::size_t n = AddCodes(ga, codes, x + kGroup, out);
  if (n != kDeclined) tally->merge({codes.range.bound(), 0});
  return n;
}

template <bool kStream, class T>
void DecompressTo(const PackedGroup& g, const Grid<T>& grid, std::uint64_t code_bound, std::uint32_t divisor, T* y) {
  if (divisor > 1 && divides_exactly<T>(grid.width, divisor)) {  // a division takes longer than all else
    Grid<T> finer = grid;
    finer.width /= divisor;
    finer.w = static_cast<T>(finer.width);
    return DecompressTo<kStream>(g, finer, code_bound, 1, y);
  }
  if constexpr (sizeof(T) == 4) {
    // The product of 16 and 24 bits is rounded once.
    if (divisor == 1 && PutSmall<kStream>(g, grid, NoGaps(), y)) return;
  }
  Codes1024 codes;
  if ((sizeof(T) == 8 || divisor > 1) && ReadCodes(g, codes.small.at())) {
    Widen(codes.small.at(), codes.large.at());
  } else {
    ReadCodes(g, codes.large.at());
    if constexpr (sizeof(T) == 4) {
      if (divisor == 1 && code_bound <= kSingleLimit) {
        PutSingle<kStream>(codes.large.at(), grid, y);
        return;
      }
    }
  }
  PutDouble<kStream>(codes.large.at(), grid, divisor, y);
}

template <class T>
void PutPastCaches(const T* from, T* y) {
  const Tag<T> d;
  for (std::size_t i = 0; i < kGroup; i += kLanes<T>) hn::Stream(hn::Load(d, from + i), d, y + i);
}

// Groups with exceptions or wide codes. Decodes equal exceptions with the codes. Declines verbatim and malformed
// groups, and means of wide codes.
template <bool kStream, class T>
HWY_NOINLINE bool DecompressExceptions(const std::uint8_t* p, std::size_t words, const Grid<T>& grid,
                                       std::uint64_t code_bound, std::uint32_t divisor, T* y) {
  GroupView view;
  if (!parse_group(p, words, kGroup, sizeof(T) == 4 ? Type::f32 : Type::f64, &view)) return false;
  if (view.verbatim) return false;
  if (view.wide && sizeof(T) == 4 && code_bound <= kSingleLimit) return false;
  if (view.wide) return divisor == 1 && DecompressWide(view, p + 4 * words, grid.width, divisor, y);
  const PackedGroup g = packed(view, p + 4 * words);
  if constexpr (sizeof(T) == 4) {
    if (divisor == 1 && view.uniform &&
        PutSmall<kStream>(g, grid, AlikeGaps{view.lanes, ExceptionReader<float>(view).value()}, y))
      return true;
  }
  if constexpr (kStream) {
    alignas(64) T values[kGroup];
    DecompressTo<false>(g, grid, code_bound, divisor, values);
    decode_exceptions(view, divisor, values);
    PutPastCaches(values, y);
  } else {
    DecompressTo<false>(g, grid, code_bound, divisor, y);
    decode_exceptions(view, divisor, y);
  }
  return true;
}

template <bool kStream, class T>
bool DecompressAs(const std::uint8_t* p, std::size_t words, const Grid<T>& grid, std::uint64_t code_bound,
                  std::uint32_t divisor, T* y) {
  PackedGroup g;
  if (!parse_packed(p, words, &g)) return DecompressExceptions<kStream>(p, words, grid, code_bound, divisor, y);
  DecompressTo<kStream>(g, grid, code_bound, divisor, y);
  return true;
}

template <class T>
bool Decompress(const std::uint8_t* p, std::size_t words, const Grid<T>& grid, std::uint64_t code_bound,
                std::uint32_t divisor, bool stream, T* y) {
  // decode_range() fences the streaming stores.
  return stream && reinterpret_cast<std::uintptr_t>(y) % kBytes == 0
             ? DecompressAs<true>(p, words, grid, code_bound, divisor, y)
             : DecompressAs<false>(p, words, grid, code_bound, divisor, y);
}

template <class T>
constexpr ValueKernels<T> ValueKernelsOf() {
  return {&Compress<T>,  &AddValues<T>, &Decompress<T>, &Range<T>,
          &AddFilled<T>, &Survey<T>,    &RangesOf<T>,   &CompressPart<T>};
}

// Elsewhere the scalar code.
constexpr DenseKernels DenseKernelsOf() {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return {&dense::avx2::scan, &dense::avx2::encode, &dense::avx2::decode};
#elif HWY_ARCH_ARM_A64
  return {&dense::neon::scan, &dense::neon::encode, &dense::neon::decode};
#else
  return {};
#endif
}

Target Get() {
  static constexpr Kernels kKernels{
      ValueKernelsOf<float>(), ValueKernelsOf<double>(), &Add, DenseKernelsOf(), {}, {}, &AddWide};
  return {hwy::TargetName(HWY_TARGET), &kKernels};
}

#else
Target Get() { return {"none", nullptr}; }
#endif  // STRETTO_PORTABLE_TARGET

}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stretto::codec {
namespace {

constexpr Compiled<Target()> kCompiled[] = STRETTO_COMPILED(Get);

const Target& best() noexcept {
  static const Target target = best_of(kCompiled)();
  return target;
}

std::atomic<const Kernels*> chosen_kernels_{nullptr};  // null: the best
std::atomic<const char*> chosen_name_{nullptr};

}  // namespace

const Kernels* portable_kernels() noexcept {
  if (const Kernels* k = chosen_kernels_.load(std::memory_order_acquire)) return k;
  return best().kernels;
}

const char* portable_target() noexcept {
  if (const char* name = chosen_name_.load(std::memory_order_acquire)) return name;
  return best().name;
}

bool choose_portable_target(const char* name) noexcept {
  if (!name || !*name) {
    chosen_kernels_.store(nullptr, std::memory_order_release);
    chosen_name_.store(nullptr, std::memory_order_release);
    return true;
  }
  const auto get = best_of(kCompiled, name);
  const Target entry = get ? get() : Target{};
  if (!entry.kernels) return false;
  chosen_name_.store(entry.name, std::memory_order_release);
  chosen_kernels_.store(entry.kernels, std::memory_order_release);
  return true;
}

}  // namespace stretto::codec
#endif  // HWY_ONCE
