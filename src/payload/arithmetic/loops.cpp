#include "payload/arithmetic/loops.hpp"

#include <algorithm>
#include <atomic>

#include "payload/arithmetic/operations.hpp"

// These targets add nothing.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "payload/arithmetic/loops.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which sets the target for all that follow.
#include "base/highway.hpp"
#include "hwy/highway.h"

#ifndef STRETTO_LOOPS_ONCE
#define STRETTO_LOOPS_ONCE
namespace stretto::payload {
struct Loops {
  const char* name;
  CombineLoop (*combine)(Op, Type) noexcept;
  DivideLoop (*divide)(Type) noexcept;
  ConvertLoop narrow, widen;
};

// Without fused multiply-add: GCC 12 uses it for complex products despite -ffp-contract.
template <class T>
#if defined(__x86_64__)
[[gnu::target("no-fma,no-avx512f")]]
#endif
void multiply_complex(const void* left, const void* right, void* out, std::size_t count) noexcept {
  using Part = typename T::value_type;  // other targets' functions are not inlined here
  const Part* a = static_cast<const Part*>(left);
  const Part* b = static_cast<const Part*>(right);
  Part* y = static_cast<Part*>(out);
#pragma GCC ivdep
  for (std::size_t i = 0; i < 2 * count; i += 2) {
    const Part real = a[i] * b[i] - a[i + 1] * b[i + 1];
    const Part imaginary = a[i] * b[i + 1] + a[i + 1] * b[i];
    y[i] = real;
    y[i + 1] = imaginary;
  }
}
}  // namespace stretto::payload
#endif

HWY_BEFORE_NAMESPACE();
namespace stretto::payload::HWY_NAMESPACE {

// ivdep: out may equal left or right, but no iteration reads another's result.
template <class O, class T>
HWY_NOINLINE void CombineSome(const T* a, const T* b, T* y, std::size_t count) noexcept {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = O::apply(a[i], b[i]);
}

// From a cache line of out on: vectors that straddle two take twice as long to store.
template <class O, class T>
void Combine(const void* left, const void* right, void* out, std::size_t count) noexcept {
  const T* a = static_cast<const T*>(left);
  const T* b = static_cast<const T*>(right);
  T* y = static_cast<T*>(out);
  const std::size_t head = std::min((0 - reinterpret_cast<std::uintptr_t>(y)) % 64 / sizeof(T), count);
  if (head > 0) CombineSome<O, T>(a, b, y, head);
  CombineSome<O, T>(a + head, b + head, y + head, count - head);
}

template <class T>
void Divide(void* values, std::size_t count, std::uint32_t divisor) noexcept {
  T* y = static_cast<T*>(values);
  for (std::size_t i = 0; i < count; ++i) y[i] = divided(y[i], divisor);
}

// The compiler vectorises all but half types, whose conversions it writes in integers.
#if HWY_TARGET <= HWY_AVX2
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToUnsigned<Floats>;
using Vector = hn::Vec<Floats>;
constexpr std::size_t kWidth = hn::MaxLanes(Floats());

inline Vector Widen(const F16* p) noexcept {
  return hn::PromoteTo(Floats(),
                       hn::LoadU(hn::Rebind<hwy::float16_t, Floats>(), reinterpret_cast<const hwy::float16_t*>(p)));
}
inline Vector Widen(const BF16* p) noexcept {
  const auto bits = hn::LoadU(hn::Rebind<std::uint16_t, Floats>(), reinterpret_cast<const std::uint16_t*>(p));
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), bits)));
}

inline void Narrow(Vector x, F16* p) noexcept {
  const hn::Rebind<hwy::float16_t, Floats> halves;
  hn::StoreU(hn::DemoteTo(halves, x), halves, reinterpret_cast<hwy::float16_t*>(p));
}
inline void Narrow(Vector x, BF16* p) noexcept {
  const Words words;
  const auto b = hn::BitCast(words, x), high = hn::ShiftRight<16>(b);
  const auto rounded = hn::ShiftRight<16>(b + hn::Set(words, 0x7FFFu) + (high & hn::Set(words, 1)));
  // NaNs alone do not equal themselves; IsNaN is missing in Highway 0.16, and Ne is false for them.
  const auto nan = hn::RebindMask(words, hn::Not(hn::Eq(x, x)));
  const auto kept = hn::IfThenElse(nan, high | hn::Set(words, 0x40u), rounded);
  const hn::Rebind<std::uint16_t, Floats> halves;
  hn::StoreU(hn::DemoteTo(halves, hn::BitCast(hn::RebindToSigned<Words>(), kept)), halves,
             reinterpret_cast<std::uint16_t*>(p));
}

inline Vector Apply(Sum, Vector a, Vector b) noexcept { return a + b; }
inline Vector Apply(Prod, Vector a, Vector b) noexcept { return a * b; }
template <bool greater>
inline Vector Apply(Extreme<greater>, Vector a, Vector b) noexcept {
  const auto below = a<b, above = a> b;
  const auto either = hn::Or(a, b);
  const auto tie = greater ? hn::IfThenElse(a == b, hn::And(a, b), either) : either;
  return hn::IfThenElse(greater ? above : below, a, hn::IfThenElse(greater ? below : above, b, tie));
}

// The last values are padded to a vector.
template <class T, class Step>
void ByVectors(const T* a, const T* b, T* y, std::size_t count, const Step& step) noexcept {
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) Narrow(step(Widen(a + i), Widen(b + i)), y + i);
  if (i == count) return;
  T left[kWidth] = {}, right[kWidth] = {};
  std::copy(a + i, a + count, left);
  std::copy(b + i, b + count, right);
  Narrow(step(Widen(left), Widen(right)), left);
  std::copy(left, left + (count - i), y + i);
}

template <class O, class T>
void CombineHalves(const void* left, const void* right, void* out, std::size_t count) noexcept {
  ByVectors(static_cast<const T*>(left), static_cast<const T*>(right), static_cast<T*>(out), count,
            [](Vector a, Vector b) { return Apply(O{}, a, b); });
}

template <class T>
void DivideHalves(void* values, std::size_t count, std::uint32_t divisor) noexcept {
  T* const y = static_cast<T*>(values);
  const auto by = hn::Set(Floats(), static_cast<float>(divisor));
  ByVectors(y, y, y, count, [by](Vector a, Vector) { return a / by; });
}

void NarrowAll(const void* from, void* to, std::size_t count) noexcept {
  const float* x = static_cast<const float*>(from);
  BF16* y = static_cast<BF16*>(to);
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) Narrow(hn::LoadU(Floats(), x + i), y + i);
  for (; i < count; ++i) y[i] = narrow_bf16(x[i]);
}

void WidenAll(const void* from, void* to, std::size_t count) noexcept {
  const BF16* x = static_cast<const BF16*>(from);
  float* y = static_cast<float*>(to);
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) hn::StoreU(Widen(x + i), Floats(), y + i);
  for (; i < count; ++i) y[i] = widen(x[i]);
}
#else
void NarrowAll(const void* from, void* to, std::size_t count) noexcept {
  const float* x = static_cast<const float*>(from);
  BF16* y = static_cast<BF16*>(to);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = narrow_bf16(x[i]);
}

void WidenAll(const void* from, void* to, std::size_t count) noexcept {
  const BF16* x = static_cast<const BF16*>(from);
  float* y = static_cast<float*>(to);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = widen(x[i]);
}

template <class O, class T>
void CombineHalves(const void* left, const void* right, void* out, std::size_t count) noexcept {
  Combine<O, T>(left, right, out, count);
}
template <class T>
void DivideHalves(void* values, std::size_t count, std::uint32_t divisor) noexcept {
  Divide<T>(values, count, divisor);
}
#endif

CombineLoop FindCombine(Op op, Type type) noexcept {
  return with_op(op, [type]<class O>() -> CombineLoop {
    if constexpr (std::is_void_v<O>) {
      return nullptr;
    } else {
      return with_type(type, []<class T>() -> CombineLoop {
        if constexpr (std::is_void_v<T>) {
          return nullptr;
        } else if constexpr (Half<T> && Defined<O, T>) {
          return &CombineHalves<O, T>;
        } else if constexpr (Complex<T> && std::same_as<O, Prod>) {
          return &multiply_complex<T>;
        } else if constexpr (Defined<O, T>) {
          return &Combine<O, T>;
        } else {
          return nullptr;
        }
      });
    }
  });
}

DivideLoop FindDivide(Type type) noexcept {
  return with_type(type, []<class T>() -> DivideLoop {
    if constexpr (Half<T>)
      return &DivideHalves<T>;
    else if constexpr (Real<T>)
      return &Divide<T>;
    else
      return nullptr;
  });
}

const Loops* Get() {
  static const Loops kLoops{hwy::TargetName(HWY_TARGET), &FindCombine, &FindDivide, &NarrowAll, &WidenAll};
  return &kLoops;
}

}  // namespace stretto::payload::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stretto::payload {
namespace {

constexpr Compiled<const Loops*()> kCompiled[] = STRETTO_COMPILED(Get);

std::atomic<const Loops*> chosen_{nullptr};  // null: the best

const Loops& loops() noexcept {
  static const Loops* const best = best_of(kCompiled)();
  const Loops* const chosen = chosen_.load(std::memory_order_acquire);
  return chosen != nullptr ? *chosen : *best;
}

}  // namespace

CombineLoop combine_loop(Op op, Type type) noexcept { return loops().combine(op, type); }
DivideLoop divide_loop(Type type) noexcept { return loops().divide(type); }
ConvertLoop narrow_loop() noexcept { return loops().narrow; }
ConvertLoop widen_loop() noexcept { return loops().widen; }
const char* loops_target() noexcept { return loops().name; }

bool choose_loops_target(const char* name) noexcept {
  if (name == nullptr) {
    chosen_.store(nullptr, std::memory_order_release);
    return true;
  }
  const auto get = best_of(kCompiled, name);
  if (get) chosen_.store(get(), std::memory_order_release);
  return get != nullptr;
}

}  // namespace stretto::payload
#endif  // HWY_ONCE
