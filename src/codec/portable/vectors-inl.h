// Vectors have at most 32 bytes, the bytes or planes of one block: wider vectors gain little.
#if defined(STRETTO_PORTABLE_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_VECTORS_INL_H_
#undef STRETTO_PORTABLE_VECTORS_INL_H_
#else
#define STRETTO_PORTABLE_VECTORS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "codec/stream/group.hpp"
#include "hwy/highway.h"

// The codes need one rounding of x * r + M.
#undef STRETTO_PORTABLE_TARGET
#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#define STRETTO_PORTABLE_TARGET 1
#else
#define STRETTO_PORTABLE_TARGET 0
#endif

// With vectors of 64 bytes, a block's words fill one (words-inl.h).
#undef STRETTO_PORTABLE_WORDS
#if STRETTO_PORTABLE_TARGET && !HWY_HAVE_SCALABLE && HWY_MAX_BYTES >= 64 && !defined(STRETTO_PORTABLE_NARROW)
#define STRETTO_PORTABLE_WORDS 1
#else
#define STRETTO_PORTABLE_WORDS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if STRETTO_PORTABLE_TARGET

// STRETTO_PORTABLE_NARROW tests 16-byte vectors on other machines. SVE_256 has vectors of 32 bytes alone:
// Highway 1.0.3's ConcatEven and ConcatOdd lose lanes of shorter ones there.
#if (HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SVE_256) || HWY_MAX_BYTES < 32 || defined(STRETTO_PORTABLE_NARROW)
inline constexpr std::size_t kBytes = 16;
#else
inline constexpr std::size_t kBytes = 32;
#endif
template <class T>
using Tag = hn::FixedTag<T, kBytes / sizeof(T)>;
template <class T>
inline constexpr std::size_t kLanes = kBytes / sizeof(T);

template <class T>
struct Row {
  static constexpr std::size_t kBefore = 64 / sizeof(T);
  alignas(64) T memory[kBefore + kGroup];
  T* at() noexcept { return memory + kBefore; }
};

// At most 8 lanes. GCC 12 may spill masks and read 32 bits back (codec/avx512/missing_map.hpp).
template <class D, class Mask>
HWY_INLINE std::uint32_t MaskBits(D d, Mask mask) {
  static_assert(hn::MaxLanes(D{}) <= 8);
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  std::uint32_t bits = bytes[0];
  asm("" : "+r"(bits));
  return bits;
}

#endif  // STRETTO_PORTABLE_TARGET

}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
