#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "base/float_environment.hpp"
#include "codec/driver.hpp"
#include "codec/group_encoder.hpp"
#include "codec/shape/axes.hpp"
#include "codec/shape/quantise.hpp"
#include "codec/shape/view.hpp"

namespace stretto::codec {
namespace shaped {
namespace {

constexpr double kWorthIt = 0.98;   // of the dense stream's estimated bytes
constexpr double kClearGain = 0.9;  // likewise: the dense stream is not made, too

Status check_shape(const Shape& shape, std::uint64_t* count) noexcept {
  if (shape.axes < 1 || shape.axes > kMaxAxes)
    return fail(Status::invalid_argument, "compress: a shape of {} axes; 1 to {}", shape.axes, kMaxAxes);
  *count = 1;
  for (int k = 0; k < shape.axes; ++k) {
    const std::uint64_t extent = shape.extent[k];
    if (extent != 0 && *count > kMaxCount / extent)
      return fail(Status::invalid_argument, "compress: extent {} of axis {} makes more than 2^48 values", extent, k);
    *count *= extent;
  }
  return Status::ok;
}

Options options_of_codes(const Options& options) noexcept {
  Options o;
  o.isa = options.isa;
  o.parallel = options.parallel;
  o.coding = Coding::dense;
  o.orders = options.orders;
  return o;
}

double largest_kept_by_grid(Type t, const void* x, std::uint64_t count, const Options& options) noexcept {
  Ranges ranges;
  if (is_integer(t) || value_ranges(t, x, count, options.keep_from, &ranges, options) != Status::ok) return 0;
  return ranges.below.empty() ? 0 : std::max(std::fabs(ranges.below.lo), std::fabs(ranges.below.hi));
}

class Writer {
 public:
  Writer(Type t, const void* x, const Shape& shape, std::uint64_t count, double eps, const Options& options) noexcept
      : x_(x), shape_(shape), count_(count), options_(options), sample_(count) {
    info_.type = t;
    info_.count = count;
    info_.contributions = 1;
    info_.eps = is_integer(t) ? 0 : eps;
    info_.coding = Coding::dense;
    info_.checksum = options.checksum;
    const double magnitude = options.magnitude > 0 ? options.magnitude : largest_kept_by_grid(t, x, count, options);
    info_.width = grid_width(t, eps, magnitude);
    q_.reset(new (std::nothrow) std::int32_t[count]);
    if (!is_integer(t)) lanes_.reset(new (std::nothrow) std::uint32_t[groups_of(count) * kBlocks]());
  }

  bool has_memory() const noexcept { return q_ && sample_.ready() && (lanes_ || is_integer(info_.type)); }

  // False if a dense stream is expected to be shorter.
  bool prepare(const Kernels& kernels) noexcept {
    if (!quantise(x_, count_, &info_, q_.get(), lanes_.get(), kernels, options_)) return false;
    double bytes = 0;
    axes_ = sample_.choose(shape_, q_.get(), options_of_codes(options_), &bytes);
    dense_bytes_ = sample_.values(info_.type, x_, info_.eps, options_);
    const double more = static_cast<double>(kHeaderBytes + shape_bytes(shape_.axes));  // than a dense stream's header
    return bytes + more < kWorthIt * dense_bytes_;
  }

  bool gains_clearly() const noexcept { return static_cast<double>(info_.bytes) < kClearGain * dense_bytes_; }

  Status write(MutableBytes out, std::size_t* written) noexcept {
    std::size_t at = kHeaderBytes + shape_bytes(shape_.axes);
    if (out.size() < at) return Status::buffer_too_small;
    if (const Status s = write_integers(axes_, out, &at); s != Status::ok) return s;
    Axes map_axes = 0;
    bool one_value = false;
    if (info_.exceptions > 0) {
      expand_map();
      double bytes = 0;
      map_axes = sample_.choose(shape_, q_.get(), options_of_codes(options_), &bytes);
      if (const Status s = write_integers(map_axes, out, &at); s != Status::ok) return s;
      const Status s = info_.type == Type::f64 ? write_values<double>(out, &at, &one_value)
                                               : write_values<float>(out, &at, &one_value);
      if (s != Status::ok) return s;
    }
    auto* const p = reinterpret_cast<std::uint8_t*>(out.data());
    const std::uint8_t head[8] = {static_cast<std::uint8_t>(shape_.axes), axes_, map_axes,
                                  one_value ? kOneValueBit : std::uint8_t{0}};
    std::memcpy(p + kHeaderBytes, head, sizeof head);
    std::memcpy(p + kHeaderBytes + sizeof head, shape_.extent, 8 * static_cast<std::size_t>(shape_.axes));
    info_.bytes = at;
    write_header(p, info_, true);
    *written = at;
    return Status::ok;
  }

 private:
  Status write_integers(Axes axes, MutableBytes out, std::size_t* at) noexcept {
    take_differences(shape_, axes, q_.get(), options_.parallel);
    std::size_t written = 0;
    const Status s =
        codec::compress(Type::i32, q_.get(), count_, 1, out.subspan(*at), &written, options_of_codes(options_));
    *at += written;
    return s;
  }

  void expand_map() noexcept {
    for (std::uint64_t at = 0; at < count_; at += kBlock) {
      const std::uint32_t word = lanes_[at / kBlock];
      const auto n = static_cast<int>(std::min<std::uint64_t>(kBlock, count_ - at));
      if (word == 0 || word == ~0u)
        std::fill_n(q_.get() + at, n, static_cast<std::int32_t>(word & 1));
      else
        for (int j = 0; j < n; ++j) q_[at + static_cast<std::uint64_t>(j)] = static_cast<std::int32_t>(word >> j & 1);
    }
  }

  template <class F>
  void for_each_exception(F f) const noexcept {
    for (std::uint64_t word = 0; word < groups_of(count_) * kBlocks; ++word)
      for (std::uint32_t left = lanes_[word]; left; left &= left - 1)
        f(word * kBlock + static_cast<std::uint64_t>(std::countr_zero(left)));
  }

  template <class T>
  Status write_values(MutableBytes out, std::size_t* at, bool* one_value) noexcept {
    const auto value = [&](std::uint64_t i) {
      T buffer[1];
      return element(group_values<T>(info_.type, x_, i, 1, buffer), 0);
    };
    T first{};
    bool any = false, equal = true;
    for_each_exception([&](std::uint64_t i) {
      const T v = value(i);
      if (!any) std::memcpy(&first, &v, sizeof v);
      any = true;
      equal = equal && std::memcmp(&first, &v, sizeof v) == 0;
    });
    *one_value = equal;
    const std::size_t bytes = sizeof(T) * (equal ? 1 : static_cast<std::size_t>(info_.exceptions));
    if (out.size() - *at < bytes) return Status::buffer_too_small;
    auto* p = reinterpret_cast<std::uint8_t*>(out.data()) + *at;
    if (equal) {
      store(p, first);
    } else {
      for_each_exception([&](std::uint64_t i) {
        store(p, value(i));
        p += sizeof(T);
      });
    }
    *at += bytes;
    return Status::ok;
  }

  const void* x_;
  const Shape& shape_;
  std::uint64_t count_;
  const Options& options_;
  Info info_;
  Sample sample_;
  std::unique_ptr<std::int32_t[]> q_;
  std::unique_ptr<std::uint32_t[]> lanes_;
  Axes axes_ = 0;
  double dense_bytes_ = 0;
};

}  // namespace
}  // namespace shaped

Status compress_shaped(Type t, const void* x, const Shape& shape, double eps, MutableBytes out, std::size_t* written,
                       const Options& options) noexcept {
  using namespace shaped;
  std::uint64_t count = 0;
  if (const Status s = check_shape(shape, &count); s != Status::ok) return s;
  if (const Status s = check_compress(t, x, count, eps, written, options); s != Status::ok) return s;
  const Kernels* kernels = chosen_kernels(options);
  if (!kernels) return Status::unsupported;
  const FloatEnvironment environment;  // also for the grid
  Options dense = options;
  dense.coding = Coding::dense;
  const auto write_dense = [&] { return compress(t, x, count, eps, out, written, dense); };
  if (count == 0) return write_dense();
  Writer writer(t, x, shape, count, eps, options);
  if (!writer.has_memory()) return fail(Status::out_of_memory, "compress: no memory for {} codes", count);
  if (!writer.prepare(*kernels)) return write_dense();
  const Status s = writer.write(out, written);
  if (s == Status::buffer_too_small) return write_dense();
  if (s != Status::ok || writer.gains_clearly()) return s;
  // The sample may be wrong, by a third: the shorter stream is kept.
  const std::size_t bytes = *written;
  const std::unique_ptr<std::byte[]> kept(new (std::nothrow) std::byte[bytes]);
  if (!kept) return s;
  std::memcpy(kept.get(), out.data(), bytes);
  if (write_dense() == Status::ok && *written <= bytes) return Status::ok;
  std::memcpy(out.data(), kept.get(), bytes);
  *written = bytes;
  return Status::ok;
}

}  // namespace stretto::codec
