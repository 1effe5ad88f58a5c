#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "base/float_environment.hpp"
#include "codec/driver.hpp"
#include "codec/numbers/quotient.hpp"
#include "codec/numbers/values.hpp"
#include "codec/shape/view.hpp"
#include "codec/stream/group_places.hpp"

namespace stretto::codec::shaped {
namespace {

using Numbers = std::unique_ptr<std::int32_t[]>;

Numbers allocate(std::uint64_t count) noexcept { return Numbers(new (std::nothrow) std::int32_t[count]); }

Status no_memory(std::uint64_t count) noexcept {
  return fail(Status::out_of_memory, "decompress: no memory for {} codes of a shaped stream", count);
}

Status read_numbers(const View& v, Bytes stream, Axes axes, std::int32_t* q, const Options& options) noexcept {
  if (const Status s = codec::decompress_slice(stream, 0, v.info.count, q, options); s != Status::ok) return s;
  sum_differences(v.shape, axes, q, options.parallel);
  return Status::ok;
}

Status read_map(const View& v, std::int32_t* map, const Options& options) noexcept {
  if (const Status s = read_numbers(v, v.map, v.map_axes, map, options); s != Status::ok) return s;
  std::uint64_t exceptions = 0;
  std::uint32_t any = 0;
  for (std::uint64_t i = 0; i < v.info.count; ++i) {
    any |= static_cast<std::uint32_t>(map[i]);
    exceptions += static_cast<std::uint32_t>(map[i]) & 1;
  }
  if (any > 1) return fail(Status::corrupt_stream, "shaped stream: the map has a number that is neither 0 nor 1");
  if (exceptions != v.info.exceptions)
    return fail(Status::corrupt_stream, "shaped stream: {} exceptions in the map, the header says {}", exceptions,
                v.info.exceptions);
  return Status::ok;
}

template <class T>
void put_codes(const Info& info, const std::int32_t* __restrict q, std::size_t n, std::uint32_t divisor,
               T* __restrict y) noexcept {
  if constexpr (std::is_integral_v<T>) {
    for (std::size_t i = 0; i < n; ++i) y[i] = divisor > 1 ? static_cast<T>(q[i] / std::int64_t{divisor}) : q[i];
  } else if (divisor > 1) {
    const CodeMean mean(info.width, divisor);
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(mean(q[i]));
  } else if (sizeof(T) == 4 && info.code_bound <= kSingleLimit) {
    const T width = static_cast<T>(info.width);
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(q[i]) * width;
  } else {
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<double>(q[i]) * info.width);
  }
}

template <class T>
T exact_value(const View& v, std::uint64_t at, std::uint32_t divisor) noexcept {
  const T value = load<T>(v.values + sizeof(T) * at);
  return divisor > 1 ? static_cast<T>(static_cast<double>(value) / divisor) : value;
}

template <class T>
void put_one_value(const std::int32_t* __restrict map, std::size_t n, T value, T* __restrict y) noexcept {
  for (std::size_t i = 0; i < n; ++i) y[i] = map[i] != 0 ? value : y[i];
}

template <class T>
void put_exceptions(const View& v, const std::int32_t* map, std::uint64_t first, std::size_t n, std::uint32_t divisor,
                    void* y) noexcept {
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < first; ++i) at += static_cast<std::uint32_t>(map[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (map[first + i] == 0) continue;
    const T value = exact_value<T>(v, at++, divisor);
    put_values(v.info.type, &value, y, i, 1);
  }
}

template <class T>
Status decode(const View& v, std::uint64_t first, std::size_t n, void* y, const Options& options,
              std::uint32_t divisor) noexcept {
  const Info& info = v.info;
  // Codes of the whole array fit in the place of its values.
  const bool in_place =
      size_of(info.type) == 4 && n == info.count && reinterpret_cast<std::uintptr_t>(y) % alignof(std::int32_t) == 0;
  const Numbers memory = in_place ? nullptr : allocate(info.count);
  if (!in_place && !memory) return no_memory(info.count);
  std::int32_t* const q = in_place ? static_cast<std::int32_t*>(y) : memory.get();
  Numbers map;
  if (info.exceptions > 0) {
    map = allocate(info.count);
    if (!map) return no_memory(info.count);
    if (const Status s = read_map(v, map.get(), options); s != Status::ok) return s;
  }
  if (const Status s = read_numbers(v, v.codes, v.code_axes, q, options); s != Status::ok) return s;
  const std::uint64_t groups = groups_of(n);
  auto part = [&](int, std::uint64_t from, std::uint64_t to) {
    const FloatEnvironment environment;
    std::int32_t codes[kGroup];  // a copy, since values may lie in the place of codes
    T values[kGroup];
    for (std::uint64_t g = from; g < to; ++g) {
      const std::uint64_t at = g * kGroup;
      const auto m = static_cast<std::size_t>(std::min<std::uint64_t>(kGroup, n - at));
      std::memcpy(codes, q + first + at, m * sizeof *q);
      put_codes(info, codes, m, divisor, values);
      if constexpr (std::is_floating_point_v<T>)
        if (map && v.one_value) put_one_value(map.get() + first + at, m, exact_value<T>(v, 0, divisor), values);
      put_values(info.type, values, y, at, m);
    }
  };
  run_parts(groups, parts_of(groups, options.parallel), options.parallel, part);
  if constexpr (std::is_floating_point_v<T>)
    if (map && !v.one_value) put_exceptions<T>(v, map.get(), first, n, divisor, y);
  return Status::ok;
}

Options options_inside(const Options& options) noexcept {
  Options o;
  o.isa = options.isa;
  o.parallel = options.parallel;
  return o;
}

}  // namespace

Status decompress_slice(Bytes in, std::uint64_t first, std::size_t n, void* y, const Options& options,
                        std::uint32_t divisor) noexcept {
  View v;
  if (const Status s = open(in, &v); s != Status::ok) return s;
  if (const Status s = check_checksum(v.info, reinterpret_cast<const std::uint8_t*>(in.data())); s != Status::ok)
    return s;
  if (first > v.info.count || n > v.info.count - first)
    return fail(Status::invalid_argument, "decompress: {} values from {} on of a stream of {}", n, first, v.info.count);
  if (n == 0) return Status::ok;
  const FloatEnvironment environment;
  return with_stored_type(v.info.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return decode<T>(v, first, n, y, options_inside(options), divisor);
  });
}

Status validate(Bytes in) noexcept {
  View v;
  if (const Status s = open(in, &v); s != Status::ok) return s;
  if (const Status s = check_checksum(v.info, reinterpret_cast<const std::uint8_t*>(in.data())); s != Status::ok)
    return s;
  for (const Bytes part : {v.codes, v.map})
    if (!part.empty())
      if (const Status s = codec::validate(part); s != Status::ok) return s;
  const Numbers codes = allocate(v.info.count), map = allocate(v.info.exceptions > 0 ? v.info.count : 1);
  if (!codes || !map) return no_memory(v.info.count);
  map[0] = 0;
  const Options options;
  if (v.info.exceptions > 0)
    if (const Status s = read_map(v, map.get(), options); s != Status::ok) return s;
  if (const Status s = read_numbers(v, v.codes, v.code_axes, codes.get(), options); s != Status::ok) return s;
  for (std::uint64_t i = 0; i < v.info.count; ++i) {
    if (v.info.exceptions > 0 && map[i]) continue;
    if (magnitude(codes[i]) > v.info.code_bound)
      return fail(Status::corrupt_stream, "validate: a code of magnitude {} at {}, the header says at most {}",
                  magnitude(codes[i]), i, v.info.code_bound);
  }
  return Status::ok;
}

}  // namespace stretto::codec::shaped
