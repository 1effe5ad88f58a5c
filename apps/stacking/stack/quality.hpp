// Error of a stack against the sum of its images, and the promised limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "stretto/stretto.h"

namespace stretto::stacking {

// The sum of images in double precision, and of their magnitudes, which bounds the rounding. `finite` is 0 at pixels
// with values that are not finite; comparisons exclude these.
struct Reference {
  std::vector<double> sum;
  std::vector<double> magnitude;
  std::vector<std::uint8_t> finite;
  double terms = 0;                                             // images per sum
  double fills_from = std::numeric_limits<double>::infinity();  // values of at least this magnitude are fill values
};

// True if an image has a fill value at the pixel. The promise holds there, too, but the sum says nothing about a
// stack's quality.
bool is_fill(const Reference& reference, std::size_t pixel);

// Adds `count` images of `pixels` values at `images` to a reference (sized on first use).
void add_to_reference(stretto_type type, const void* images, std::uint64_t count, std::size_t pixels, Reference* ref);

// The promised error of a stack at every pixel: `bound`, plus rounding: the double sum's own, and `roundings` roundings
// of a sum to the result's type. A sum beyond the type's range is an infinity of its sign.
struct Promise {
  double bound = 0;
  double roundings = 1;
  bool partial_sums = false;  // some roundings are of partial sums, which may overflow even if the whole sum does not
};

struct Quality {
  double worst = 0;            // largest |result - reference|, excluding fill values; so is psnr
  double psnr = 0;             // 20 log10(range of the reference / root mean square error), dB; infinity if equal
  double excess = 0;           // largest excess of an error over its promise; <= 0 if the promise holds
  std::size_t overflowed = 0;  // pixels of finite images that overflowed legitimately; excluded above
};

// Compares a result with the reference.
Quality compare(stretto_type type, const void* result, const Reference& ref, const Promise& promise);

// result - reference, as float, for the picture; NaN where either is not finite, or a fill value.
std::vector<float> error_map(stretto_type type, const void* result, const Reference& ref);

// The largest promise over all representable pixels without fill values, as compare() applies it, for the table.
double largest_promise(stretto_type type, const Reference& ref, const Promise& promise);

}  // namespace stretto::stacking
