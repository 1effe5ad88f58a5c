#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>

#include "codec/group_io.hpp"
#include "codec/numbers/quotient.hpp"
#include "codec/numbers/values.hpp"
#include "codec/shape/view.hpp"
#include "codec/stream/part.hpp"
#include "codec/unit_grid.hpp"

namespace stretto::codec {
namespace {

// Outputs beyond the caches use streaming stores.
constexpr std::size_t kStreamingBytes = std::size_t{4} << 20;

template <class T>
struct GroupDecoder {
  const StreamView& s;
  const Kernels& kernels;
  Grid<T> grid;
  std::uint32_t divisor;
  bool stream;

  Status decode(std::uint64_t g, GroupSource& source, ReadableGroup& readable, T* y) const noexcept {
    const int m = s.layout.group_size(g);
    if (const Status status = source.read(g); status != Status::ok) return status;
    prefetch_read(source.data(), 4 * source.words());
    const auto kernel = value_kernels<T>(kernels).decompress;
    const bool fits = m == kGroup || has_codes_alone(source.data(), source.words());
    const std::uint8_t* const at = fits ? readable.at(source.data(), source.words(), source.readable_end()) : nullptr;
    alignas(64) T all[kGroup];
    T* const to = m == kGroup ? y : all;
    if (kernel && at && kernel(at, source.words(), grid, s.info.code_bound, divisor, stream && to == y, to)) {
      if (to != y) std::memcpy(y, all, static_cast<std::size_t>(m) * sizeof(T));
      return Status::ok;
    }
    if constexpr (std::is_integral_v<T>) {
      if (!kernel && at && m == kGroup && divisor == 1 && source.words() > 0) {
        const bool few_bits = s.info.code_bound <= kSingleLimit;
        if (few_bits ? decode_codes(kernels.f32, at, source.words(), y)
                     : decode_codes(kernels.f64, at, source.words(), y))
          return Status::ok;
      }
    }
    GroupView view;
    if (!source.view(&view)) return Status::corrupt_stream;
    return decode_group(view, s.info, divisor, y) ? Status::ok : Status::overflow;
  }
};

template <class T>
Status overflow_in(const StreamView& s, std::uint64_t g, std::uint32_t divisor) noexcept {
  GroupView view;
  if constexpr (std::is_integral_v<T>) {
    GroupSource source(s, *find_kernels(Isa::reference), 0);
    if (source.read(g) == Status::ok && source.view(&view)) {
      Codes q;
      read_codes(view, q);
      for (int i = 0; i < view.m; ++i) {
        const std::int64_t v = divisor > 1 ? q[i] / static_cast<std::int64_t>(divisor) : q[i];
        if (static_cast<T>(v) != v)
          return fail(Status::overflow, "decompress: element {} of the stream is {}, and {} holds {} to {}",
                      g * kGroup + static_cast<std::uint64_t>(i), v, name(s.info.type), std::numeric_limits<T>::min(),
                      std::numeric_limits<T>::max());
      }
    }
  }
  return fail(Status::overflow, "decompress: the result does not fit its type at group {}", g);
}

// Kernels are exact for usual widths: a float32 width times a narrow code is exact in float64, and float64 products
// neither overflow nor underflow.
template <class T>
const Kernels& kernels_for_means(const Info& info, const Kernels& chosen) noexcept {
  const bool usual =
      sizeof(T) == 4 ? (std::bit_cast<std::uint64_t>(info.width) & 0x7fffffff) == 0 : is_usual_width(info.width);
  return usual ? chosen : *find_kernels(Isa::reference);
}

template <class T>
Status decode_range(const StreamView& s, std::uint64_t first, std::size_t n, void* y, const Kernels& kernels,
                    const Options& options, std::uint32_t divisor) noexcept {
  if (n == 0) return Status::ok;
  GroupDecoder<T> decoder{
      s, divisor > 1 ? kernels_for_means<T>(s.info, kernels) : kernels, {}, divisor, n * sizeof(T) >= kStreamingBytes};
  if constexpr (std::is_floating_point_v<T>) decoder.grid = make_grid<T>(s.info.type, s.info.eps, s.info.width);
  const std::uint64_t end = first + n, first_group = first / kGroup, groups = (end - 1) / kGroup + 1 - first_group;
  const bool direct = stored_type(s.info.type) == s.info.type;
  PartResult results[kMaxParts];
  const int parts = parts_of(groups, options.parallel);
  auto part = [&](int i, std::uint64_t from, std::uint64_t to) {
    const FloatEnvironment environment;
    if (from == to) return;
    T buffer[kGroup];
    ReadableGroup readable;
    GroupSource source(s, kernels, 0);
    for (std::uint64_t g = first_group + from; g < first_group + to; ++g) {
      const std::uint64_t at = g * kGroup, begin = std::max(at, first),
                          stop = std::min(at + static_cast<std::uint64_t>(s.layout.group_size(g)), end);
      const bool whole = direct && begin == at && stop - begin == static_cast<std::uint64_t>(s.layout.group_size(g));
      T* to_values = whole ? static_cast<T*>(y) + (at - first) : buffer;
      results[i].status = decoder.decode(g, source, readable, to_values);
      results[i].group = g;
      if (results[i].status != Status::ok) break;
      if (!whole)
        put_values(s.info.type, buffer + (begin - at), y, begin - first, static_cast<std::size_t>(stop - begin));
    }
    if (decoder.stream) std::atomic_thread_fence(std::memory_order_seq_cst);  // streaming stores are weakly ordered
  };
  run_parts(groups, parts, options.parallel, part);
  for (int i = 0; i < parts; ++i)
    if (results[i].status != Status::ok)
      return results[i].status == Status::overflow ? overflow_in<T>(s, results[i].group, divisor)
                                                   : report(results[i], "decompress", 0);
  return Status::ok;
}

}  // namespace

Status decompress_slice(Bytes in, std::uint64_t first, std::size_t n, void* y, const Options& options,
                        std::uint32_t divisor) noexcept {
  if (!y && n) return fail(Status::invalid_argument, "decompress: y is null with {} values", n);
  if (divisor == 0) return fail(Status::invalid_argument, "decompress: the divisor is 0");
  const Kernels* kernels = chosen_kernels(options);
  if (!kernels) return Status::unsupported;
  if (shaped::is_shaped(in)) return shaped::decompress_slice(in, first, n, y, options, divisor);
  StreamView s;
  if (const Status status = open_stream(in, &s, true); status != Status::ok) return status;
  if (first > s.info.count || n > s.info.count - first)
    return fail(Status::invalid_argument, "decompress: {} values from {} on of a stream of {}", n, first, s.info.count);
  const FloatEnvironment environment;
  return with_stored_type(s.info.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return decode_range<T>(s, first, n, y, *kernels, options, divisor);
  });
}

Status decompress(Bytes in, void* y, std::size_t count, const Options& options, std::uint32_t divisor) noexcept {
  Info info;
  if (const Status s = inspect(in, &info); s != Status::ok) return s;
  if (info.count != count)
    return fail(Status::invalid_argument, "decompress: room for {} values, the stream holds {}", count, info.count);
  return decompress_slice(in, 0, count, y, options, divisor);
}

}  // namespace stretto::codec
