#include "codec/stream/exception_sums.hpp"

#include <bit>
#include <cstring>

#include "codec/numbers/exact_window.hpp"
#include "codec/stream/exception_map.hpp"

namespace stretto::codec {
namespace {

using sums::Number;
using sums::Short;
using sums::Window;

template <class T>
class Operand {
 public:
  Operand(const ExceptionSummand& s, bool negate, double width, const Window<T>& window) noexcept
      : s_(s), negate_(negate), width_(width), window_(window), reader_(s.group) {
    if (s.group.exceptions) read();
  }
  bool has(int block, int place) const noexcept { return s_.group.lanes[block] >> place & 1; }
  bool holds_exception() const noexcept { return held_; }
  bool is_short() const noexcept { return short_; }
  Short short_exception() const noexcept { return sums::short_of(number_); }
  const Number& exception() const noexcept { return number_; }
  std::int32_t signed_code(int i) const noexcept {
    const auto q = static_cast<std::uint32_t>(s_.codes[i]);
    return static_cast<std::int32_t>(negate_ ? 0 - q : q);
  }
  Number code(int i) const noexcept { return window_.code(signed_code(i)); }
  void next() noexcept {
    if (s_.group.uniform) return;
    reader_.next();
    read();
  }
  void add_exception(ExactSum<T>& sum) const noexcept { reader_.add_to(sum, negate_); }
  void add_code(int i, ExactSum<T>& sum) const noexcept { sum.add_code(signed_code(i), width_); }

 private:
  void read() noexcept {
    held_ = reader_.size() != 0 && window_.exception(reader_, s_.group.sums, negate_, &number_);
    short_ = held_ && sums::is_short(number_);
  }
  const ExceptionSummand& s_;
  bool negate_;
  double width_;
  const Window<T>& window_;
  ExceptionReader<T> reader_;
  Number number_;
  bool held_ = false, short_ = false;
};

template <class T>
struct Pair {
  Operand<T> a, b;
  const Window<T>& window;
  bool codes_are_short;

  std::size_t write(int i, bool in_a, bool in_b, std::uint8_t* out) const noexcept {
    if (codes_are_short && in_a != in_b) {
      const Operand<T>& missing = in_a ? a : b;
      if (missing.is_short())
        return window.write_short(missing.short_exception(), missing.exception().flags, (in_a ? b : a).signed_code(i),
                                  out);
    }
    if (window.usable() && (!in_a || a.holds_exception()) && (!in_b || b.holds_exception())) {
      Number n = in_a ? a.exception() : a.code(i);
      add(n, in_b ? b.exception() : b.code(i));
      return window.write(n, out);
    }
    ExactSum<T> sum;
    if (in_a)
      a.add_exception(sum);
    else
      a.add_code(i, sum);
    if (in_b)
      b.add_exception(sum);
    else
      b.add_code(i, sum);
    return sum.write(out);
  }
};

// Each operand has one short value for all exceptions; `both` is their sum.
template <class T>
std::uint8_t* write_uniform_sums(const Pair<T>& pair, const ExceptionSummand& a, const ExceptionSummand& b,
                                 bool negate_b, const std::uint8_t* both, std::size_t both_bytes, std::uint8_t* p,
                                 std::uint8_t* end) noexcept {
  constexpr std::size_t kMost = 40;  // bytes written at once, at least those of a sum
  const Window<T> window = pair.window;
  const Short missing_in_a = pair.a.short_exception(), missing_in_b = pair.b.short_exception();
  const std::uint32_t flags_a = pair.a.exception().flags, flags_b = pair.b.exception().flags;
  const std::uint32_t sign = negate_b ? ~0u : 0;
  for (int block = 0; block < kBlocks; ++block) {
    const std::uint32_t in_a = a.group.lanes[block], in_b = b.group.lanes[block];
    if (static_cast<std::size_t>(end - p) < (static_cast<std::size_t>(std::popcount(in_a | in_b)) + 1) * kMost)
      return nullptr;
    for (std::uint32_t left = in_a | in_b; left; left &= left - 1) {
      const std::uint32_t place = left & (0 - left);
      const int i = kBlock * block + std::countr_zero(left);
      std::size_t n = both_bytes;
      if ((in_a & in_b & place) != 0) {
        std::memcpy(p, both, kMost);
      } else if ((in_a & place) != 0) {
        const std::uint32_t code = (static_cast<std::uint32_t>(b.codes[i]) ^ sign) - sign;
        n = window.write_short(missing_in_a, flags_a, static_cast<std::int32_t>(code), p);
      } else {
        n = window.write_short(missing_in_b, flags_b, a.codes[i], p);
      }
      p += n;
    }
  }
  return p;
}

template <class T>
std::uint8_t* write_uniform_sums_by(WriteUniformSums kernel, const Pair<T>& pair, const ExceptionSummand& a,
                                    const ExceptionSummand& b, bool negate_b, const std::uint8_t* both,
                                    std::size_t both_bytes, std::uint8_t* p, std::uint8_t* end) noexcept {
  const Window<T>& window = pair.window;
  if (!kernel || window.factor() > std::uint64_t{kNarrowLimit} || window.shift() == 0 || window.shift() > 63)
    return write_uniform_sums(pair, a, b, negate_b, both, both_bytes, p, end);
  const auto missing = [](const Operand<T>& o) {
    const Number& n = o.exception();
    return UniformSums::Missing{n.limb[0], n.limb[1], n.flags};
  };
  return kernel({missing(pair.a), missing(pair.b), a.group.lanes, b.group.lanes, a.codes, b.codes, negate_b,
                 static_cast<std::int32_t>(window.factor()), window.shift(), window.first_word()},
                p, end);
}

std::size_t bytes_of_all(const std::uint8_t* p, const std::uint8_t* end) noexcept {
  const std::size_t first = 4 + 4 * (load<std::uint32_t>(p) & 0xff);
  return std::memcmp(p, p + first, static_cast<std::size_t>(end - p) - first) == 0 ? first : 0;
}

}  // namespace

template <class T>
std::uint8_t* write_exception_sums(const ExceptionSummand& a, const ExceptionSummand& b, bool negate_b,
                                   const Lanes lanes, double width, std::uint8_t* p, std::uint8_t* end,
                                   WriteUniformSums kernel) noexcept {
  if (end <= p) return nullptr;
  std::uint8_t* const kind = p;
  const auto room = static_cast<std::size_t>(end - p);
  std::size_t map = std::memcmp(a.group.lanes, lanes, sizeof(Lanes)) == 0 ? copy_exception_runs(a.group, p, room) : 0;
  if (map == 0) map = write_exception_map(lanes, kGroup, p, room);
  if (map == 0) return nullptr;
  p += map;
  *kind |= kSumsBit;
  std::uint8_t* const values = p;
  const auto has_room = [&] { return static_cast<std::size_t>(end - p) >= ExactSum<T>::kMaxBytes; };
  const Window<T> window(width);
  Pair<T> pair{{a, false, width, window}, {b, negate_b, width, window}, window, window.codes_are_short()};
  const bool both_uniform = a.group.uniform && b.group.uniform;
  if (both_uniform && std::memcmp(a.group.lanes, b.group.lanes, sizeof(Lanes)) == 0) {
    if (!has_room()) return nullptr;
    *kind |= kUniformBit;
    return p + pair.write(0, true, true, p);
  }
  std::uint8_t both[ExactSum<T>::kMaxBytes] = {};
  const std::size_t both_bytes = both_uniform ? pair.write(0, true, true, both) : 0;
  const auto one_short = [](const Operand<T>& o, const GroupView& g) {
    return !g.exceptions || (g.uniform && o.is_short());
  };
  if (pair.codes_are_short && one_short(pair.a, a.group) && one_short(pair.b, b.group)) {
    p = write_uniform_sums_by(kernel, pair, a, b, negate_b, both, both_bytes, p, end);
    if (!p) return nullptr;
  } else {
    for (int block = 0; block < kBlocks; ++block) {
      for (std::uint32_t left = lanes[block]; left; left &= left - 1) {
        if (!has_room()) return nullptr;
        const int place = std::countr_zero(left);
        const bool in_a = pair.a.has(block, place), in_b = pair.b.has(block, place);
        const bool known = both_uniform && in_a && in_b;
        if (known) std::memcpy(p, both, sizeof both);
        const std::size_t n = known ? both_bytes : pair.write(kBlock * block + place, in_a, in_b, p);
        if (in_a) pair.a.next();
        if (in_b) pair.b.next();
        p += n;
      }
    }
  }
  const std::size_t uniform = bytes_of_all(values, p);
  if (uniform == 0) return p;
  *kind |= kUniformBit;
  return values + uniform;
}
template std::uint8_t* write_exception_sums<float>(const ExceptionSummand&, const ExceptionSummand&, bool, const Lanes,
                                                   double, std::uint8_t*, std::uint8_t*, WriteUniformSums) noexcept;
template std::uint8_t* write_exception_sums<double>(const ExceptionSummand&, const ExceptionSummand&, bool, const Lanes,
                                                    double, std::uint8_t*, std::uint8_t*, WriteUniformSums) noexcept;

}  // namespace stretto::codec
