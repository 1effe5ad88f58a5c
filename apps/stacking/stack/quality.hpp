// How far a stack is from the sum of its images, and how far it may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "stretto/stretto.h"

namespace stretto::stacking {

// The sum of images in double precision, and of their magnitudes, which bounds what rounding may do to it.
// Values that are not finite are left out of the comparison: `finite` is 0 at such pixels.
struct Reference {
  std::vector<double> sum;
  std::vector<double> magnitude;
  std::vector<std::uint8_t> finite;
  double terms = 0;                                             // images in each sum
  double fills_from = std::numeric_limits<double>::infinity();  // values of this magnitude and more are fill values
};

// Whether an image has a fill value at a pixel. There a sum keeps its promise as everywhere, but says nothing of how good a stack is.
bool is_fill(const Reference& reference, std::size_t pixel);

// Adds `count` images of `pixels` values at `images` to a reference (sized on first use).
void add_to_reference(stretto_type type, const void* images, std::uint64_t count, std::size_t pixels, Reference* ref);

// What a stack is promised to be within at every pixel: `bound`, plus what rounding alone may do: the double sum's own, and `roundings` roundings of a
// sum to the result's type. A sum that the type cannot hold is an infinity of its sign.
struct Promise {
  double bound = 0;
  double roundings = 1;
  bool partial_sums =
      false;  // some of these are of partial sums, which may overflow, either way, where the whole sum does not
};

struct Quality {
  double worst = 0;            // largest |result - reference|, fill values not counted, as in the next
  double psnr = 0;             // 20 log10(range of the reference / root mean square error), dB; infinity when equal
  double excess = 0;           // largest amount by which an error passes its promise; <= 0 when the promise holds
  std::size_t overflowed = 0;  // pixels that overflowed rightly, of images that are finite there; not in the above
};

// A result against the reference.
Quality compare(stretto_type type, const void* result, const Reference& ref, const Promise& promise);

// result - reference, as float, for the picture; NaN where one of them is not finite, or a fill value.
std::vector<float> error_map(stretto_type type, const void* result, const Reference& ref);

// The largest promise over all pixels but fill values whose sum the type can hold, as compare() applies it: what the table prints.
double largest_promise(stretto_type type, const Reference& ref, const Promise& promise);

}  // namespace stretto::stacking
