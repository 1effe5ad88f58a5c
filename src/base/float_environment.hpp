// For results that must be equal on all ranks. Compilers may move arithmetic across its scope: results must be stored,
// or used in a branch, inside.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace stretto {

// Rounding to nearest with denormals, in all units of the C library; on x86-64 also the x87, by which strtod rounds.
class WholeFloatEnvironment {
 public:
  WholeFloatEnvironment() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~WholeFloatEnvironment() { std::fesetenv(&saved_); }
  WholeFloatEnvironment(const WholeFloatEnvironment&) = delete;
  WholeFloatEnvironment& operator=(const WholeFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

// Cheaper: the computing unit alone.
#if defined(__x86_64__)
class FloatEnvironment {
 public:
  FloatEnvironment() noexcept : saved_(_mm_getcsr()) {
    if ((saved_ & ~0x3fu) != 0x1f80) _mm_setcsr(0x1f80);
  }
  ~FloatEnvironment() {
    if ((saved_ & ~0x3fu) != 0x1f80) _mm_setcsr(saved_);
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  unsigned saved_;
};
#else
using FloatEnvironment = WholeFloatEnvironment;
#endif

}  // namespace stretto
