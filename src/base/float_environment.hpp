// The floating-point environment in which everything is computed that ranks must find alike: codes, bounds, choices.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace stretto {

// Round to nearest, denormals kept, whatever the caller (or -ffast-math somewhere in the program) had set; restored after.
class FloatEnvironment {
 public:
  FloatEnvironment() noexcept {
#if defined(__x86_64__)
    saved_ = _mm_getcsr();
    if ((saved_ & ~0x3fu) != 0x1f80) _mm_setcsr(0x1f80);
#else
    std::feholdexcept(&saved_);
    std::fesetround(FE_TONEAREST);
#endif
  }
  ~FloatEnvironment() {
#if defined(__x86_64__)
    if ((saved_ & ~0x3fu) != 0x1f80) _mm_setcsr(saved_);
#else
    std::fesetenv(&saved_);
#endif
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace stretto
