// Passes over a rank's own values beside a collective: error feedback, sums of squares, and bfloat16 on the wire.
// Memory is given by its address; the caller keeps it alive.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "parts.hpp"
#include "streams/passes.hpp"
#include "stretto/stretto_stream.h"

namespace nb = nanobind;

namespace stretto::python {
namespace {

using Address = std::uintptr_t;
using payload::BF16;

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

void check_type(stretto_type type) {
  if (!has_passes(type)) raise(STRETTO_UNSUPPORTED, "passes over values are of floating types");
}

double squares(stretto_type type, Address values, std::size_t n) {
  check_type(type);
  const nb::gil_scoped_release others;
  return passes().squares(type, at<const void>(values), n);
}

std::vector<double> add_residual(stretto_type type, Address values, Address left,
                                 const std::vector<std::size_t>& parts) {
  check_type(type);
  const nb::gil_scoped_release others;
  std::vector<double> squares;
  squares.reserve(parts.size());
  for (const std::size_t n : parts) {
    squares.push_back(passes().add(type, at<const void>(values), at<void>(left), n));
    values += n * stretto_type_size(type);
    left += n * stretto_type_size(type);
  }
  return squares;
}

using Spans = std::vector<std::pair<std::size_t, std::size_t>>;  // (first element, elements)

void gather(Address values, Address out, std::size_t size, const Spans& spans) {
  const nb::gil_scoped_release others;
  for (const auto& [first, count] : spans) {
    std::memcpy(at<void>(out), at<const void>(values + first * size), count * size);
    out += count * size;
  }
}

void scatter(Address taken, Address values, std::size_t size, const Spans& spans) {
  const nb::gil_scoped_release others;
  for (const auto& [first, count] : spans) {
    std::memcpy(at<void>(values + first * size), at<const void>(taken), count * size);
    taken += count * size;
  }
}

void clear(Address values, std::size_t size, const Spans& spans) {
  const nb::gil_scoped_release others;
  for (const auto& [first, count] : spans) std::memset(at<void>(values + first * size), 0, count * size);
}

// A piece's stream and its decoded values stay in the second cache. Groups of a stream are independent, so the values
// are those of a stream of all.
stretto_status subtract_decoded(stretto_type type, const std::byte* kept, std::byte* left, std::size_t n, double eps) {
  constexpr std::size_t piece = 16 * 1024;
  const std::size_t size = stretto_type_size(type), longest = std::min(n, piece);
  std::vector<std::byte> stream(stretto_compress_bound(type, longest)), decoded(longest * size);
  for (std::size_t first = 0; first < n; first += piece) {
    const std::size_t count = std::min(piece, n - first);
    const std::byte* const mine = kept + first * size;
    std::size_t bytes = 0;
    stretto_status s = stretto_compress(type, mine, count, eps, stream.data(), stream.size(), &bytes, STRETTO_FIXED);
    if (s == STRETTO_OK) s = stretto_decompress(stream.data(), bytes, decoded.data(), count, 1);
    if (s != STRETTO_OK) return s;
    passes().subtract(type, mine, decoded.data(), left + first * size, count);
  }
  return STRETTO_OK;
}

void residual(stretto_type type, Address kept, Address left, const std::vector<std::size_t>& parts,
              const std::vector<double>& eps) {
  check_type(type);
  if (parts.size() != eps.size()) raise(STRETTO_INVALID_ARGUMENT, "each part has an eps");
  stretto_status status = STRETTO_OK;
  {
    const nb::gil_scoped_release others;
    std::size_t first = 0;
    for (std::size_t i = 0; i < parts.size() && status == STRETTO_OK; first += parts[i++] * stretto_type_size(type)) {
      if (eps[i] > 0)
        status =
            subtract_decoded(type, at<const std::byte>(kept + first), at<std::byte>(left + first), parts[i], eps[i]);
      else
        std::memset(at<void>(left + first), 0, parts[i] * stretto_type_size(type));
    }
  }
  check(status);
}

void to_bf16(Address values, Address out, std::size_t n) {
  const nb::gil_scoped_release others;
  passes().narrow(at<const float>(values), at<BF16>(out), n);
}

void of_bf16(Address values, Address out, std::size_t n) {
  const nb::gil_scoped_release others;
  passes().widen(at<const BF16>(values), at<float>(out), n);
}

void mean_of_bf16(Address rows, std::size_t ranks, std::size_t n, Address out, bool wide) {
  const nb::gil_scoped_release others;
  if (wide)
    passes().mean_f32(at<const BF16>(rows), ranks, n, at<float>(out));
  else
    passes().mean(at<const BF16>(rows), ranks, n, at<BF16>(out));
}

}  // namespace

void add_feedback(nb::module_& m) {
  m.def("squares", &squares, "The sum of squares of n values.");
  m.def("add_residual", &add_residual,
        "left += values, where a left that is not finite is 0. The sum of squares of each of its parts.");
  m.def("gather", &gather, "Elements of `size` bytes of the spans (first, count) of values, end to end to `out`.");
  m.def("scatter", &scatter, "Elements that lie end to end to the spans of values.");
  m.def("clear", &clear, "Zeros in the spans of values.");
  m.def(
      "residual", &residual,
      "left = kept less what a stream of each part within its eps decodes to; 0 where kept is not finite, or eps is 0. "
      "left may be kept.");
  m.def("to_bf16", &to_bf16, "n values of float32 as bfloat16.");
  m.def("of_bf16", &of_bf16, "n values of bfloat16 as float32.");
  m.def("mean_of_bf16", &mean_of_bf16, "The mean of rows of n values, summed in float32; wide: as float32.");
}

}  // namespace stretto::python
