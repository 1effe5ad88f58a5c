// Estimates a chunk's length from the entropy of its classes.
#include <bit>
#include <cmath>

#include "base/float_environment.hpp"
#include "codec/dense/head.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {
namespace {

using dense::kLanes;

constexpr int kWidths = 33;
constexpr double kHeadBytes = 3;
constexpr double kSharedBytes = 4.5;  // a group's share of its chunk's tables and states

// Counts of classes by their block's width, and of widths by their group's largest.
class Classes {
 public:
  void add(const dense::Parts& parts) noexcept {
    const std::uint8_t* planes = parts.planes;
    const int widest = parts.widths.widest;
    for (int b = 0; widest > 0 && b < kBlocks; ++b) {
      const int width = parts.widths.of[b];
      ++widths_[widest][width];
      if (width > 0) add_block(planes, width, parts.predictor == Predictor::none_unsigned);
      planes += 4 * width;
    }
  }

  double bits() const noexcept {
    double bits = low_;
    for (int w = 1; w < kWidths; ++w) bits += entropy(widths_[w]) + entropy(classes_[w]);
    return bits;
  }

 private:
  void add_block(const std::uint8_t* planes, int width, bool is_unsigned) noexcept {
    const std::uint32_t sign = is_unsigned ? 0 : load<std::uint32_t>(planes + 4 * (width - 1));
    std::uint32_t above = 0;
    int counted = 0;
    for (int k = width; k >= 1; --k) {
      const std::uint32_t plane = is_unsigned ? load<std::uint32_t>(planes + 4 * (k - 1))
                                  : k > 1     ? load<std::uint32_t>(planes + 4 * (k - 2)) ^ sign
                                              : sign;
      above |= plane;
      const int reach = std::popcount(above);
      classes_[width][k] += static_cast<std::uint32_t>(reach - counted);
      counted = reach;
      if (k > 1) low_ += reach;
    }
    classes_[width][0] += static_cast<std::uint32_t>(kLanes - counted);
  }

  static double entropy(const std::uint32_t (&count)[kWidths]) noexcept {
    double total = 0, bits = 0;
    for (const std::uint32_t n : count) total += n;
    for (const std::uint32_t n : count)
      if (n > 0) bits += n * std::log2(total / n);
    return bits;
  }

  std::uint32_t widths_[kWidths][kWidths] = {}, classes_[kWidths][kWidths] = {};
  double low_ = 0;
};

}  // namespace

bool estimate_dense(Bytes in, double* fixed_bytes, double* dense_bytes) noexcept {
  *fixed_bytes = *dense_bytes = 0;
  StreamView s;
  if (open_stream(in, &s, false) != Status::ok || s.layout.coding != Coding::fixed) return false;
  const FloatEnvironment environment;
  Classes classes;
  const std::uint8_t* p = s.base + s.layout.body;
  for (std::uint64_t g = 0; g < s.layout.groups; ++g) {
    const std::size_t words = s.words(g);
    const double length = 4.0 * static_cast<double>(words);
    dense::Parts parts;
    if (!dense::take_apart(p, words, s.layout.group_size(g), stored_type(s.info.type), &parts)) return false;
    *fixed_bytes += 2 + length;
    if (parts.verbatim || parts.wide) {
      *dense_bytes += length;
    } else {
      *dense_bytes += kHeadBytes + kSharedBytes + static_cast<double>(parts.exceptions_bytes);
      classes.add(parts);
    }
    p += 4 * words;
  }
  *dense_bytes = std::fmin(*fixed_bytes, *dense_bytes + classes.bits() / 8);
  return true;
}

}  // namespace stretto::codec
