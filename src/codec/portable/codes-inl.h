// Codes in the narrowest sufficient words, and their order.
#if defined(STRETTO_PORTABLE_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STRETTO_PORTABLE_CODES_INL_H_
#undef STRETTO_PORTABLE_CODES_INL_H_
#else
#define STRETTO_PORTABLE_CODES_INL_H_
#endif

#include "codec/portable/missing-inl.h"
#include "codec/portable/residuals-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stretto::codec::HWY_NAMESPACE {
#if STRETTO_PORTABLE_TARGET

// Second differences of smaller codes fit 16 bits.
inline constexpr std::uint32_t kSmallCode = 8191;

struct Codes1024 {
  Row<std::int16_t> small;
  Row<std::int32_t> large;
  CodeRange range;
  bool is_small = true;
  Coding orders = Coding::fixed;
  bool alike = true;  // exceptions

  void quantise(const float* x, const Grid<float>& grid) {
    orders = grid.orders;
    range = Quantise(x, grid, small.at());
    if (range.good() || range.far) return;
    range = Quantise(x, grid, large.at());
    is_small = false;
  }
  void quantise(const double* x, const Grid<double>& grid) {
    orders = grid.orders;
    range = Quantise(x, grid, large.at());
    is_small = range.bound() <= kSmallCode;
    if (range.good() && is_small) Narrow(large.at(), small.at());
  }
  // For missing values or codes that need a check. False if 32 bits do not suffice.
  template <class T>
  bool check(const T* x, const Grid<T>& grid, Missing* missing) {
    orders = grid.orders;
    const bool fits = check_all(x, grid, missing);
    alike = missing->count == 0 || missing->alike;
    return fits;
  }
  int order() {
    const Coding by = orders_for(orders, kGroup, range.bound(), alike);
    return is_small ? ChooseOrder(small.at(), by) : ChooseOrder(large.at(), by);
  }
  Predictor predictor() {
    const int k = order();
    if (k > 0) return k == 1 ? Predictor::first : Predictor::second;
    return range.least >= 0 ? Predictor::none_unsigned : Predictor::none_signed;
  }

 private:
  bool check_all(const float* x, const Grid<float>& grid, Missing* missing) {
    is_small = true;
    range = QuantiseFilled(x, grid, small.at(), missing);
    if (!range.good()) {
      is_small = false;
      range = QuantiseFilled(x, grid, large.at(), missing);
    }
    return range.good() || check_each(x, grid, missing);
  }
  bool check_all(const double* x, const Grid<double>& grid, Missing* missing) { return check_each(x, grid, missing); }
  template <class T>
  bool check_each(const T* x, const Grid<T>& grid, Missing* missing) {
    if (!QuantiseChecked(x, grid, large.at(), missing->lanes)) return false;
    range = RangeOf(large.at());
    missing->count = 0;
    for (int b = 0; b < kBlocks; ++b) missing->count += std::popcount(missing->lanes[b]);
    missing->alike = missing->count == 0 || all_alike(x, missing->lanes);
    is_small = range.bound() <= kSmallCode;
    if (missing->count > 0) fill_exceptions(missing->lanes, large.at());
    if (is_small) Narrow(large.at(), small.at());
    return true;
  }
};

#endif  // STRETTO_PORTABLE_TARGET
}  // namespace stretto::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
