#include <algorithm>
#include <cstring>

#include "codec/marks.hpp"
#include "codec/numbers/arithmetic.hpp"
#include "codec/numbers/quantise.hpp"
#include "codec/numbers/quotient.hpp"
#include "codec/stream/exception_map.hpp"
#include "codec/stream/exceptions.hpp"
#include "codec/stream/group_places.hpp"

namespace stretto::codec {
namespace {

template <class T>
std::size_t write_input(void* self, int i, std::uint8_t* out, std::size_t room) noexcept {
  return put_bytes(static_cast<const std::uint8_t*>(self) + static_cast<std::size_t>(i) * sizeof(T), sizeof(T), out,
                   room);
}

template <class T>
std::size_t write_verbatim(const T* x, int m, std::uint8_t* out, std::size_t room) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(m) * sizeof(T);
  if (room < 4 + bytes) return kNoRoom;
  store<std::uint32_t>(out, kVerbatimWord);
  std::memcpy(out + 4, x, bytes);
  return 1 + bytes / 4;
}

template <class I>
std::size_t compress_integers(const I* x, int m, Coding orders, std::uint8_t* out, std::size_t room,
                              Tally* tally) noexcept {
  Codes q = {};
  GroupSpec spec{};
  spec.m = m;
  for (int i = 0; i < m; ++i) {
    q[i] = element(x, i);
    spec.wide = spec.wide || magnitude(q[i]) > kNarrowLimit;
  }
  Tally own;
  count(q, m, kNoLanes, &own);
  tally->merge(own);
  spec.predictor = choose_predictor(q, m, spec.wide, orders_for(orders, m, own.bound, true));
  fresh_base(q, m, spec.predictor, spec.wide, &spec.base, &spec.slope);
  return write_group(spec, q, kNoLanes, {}, out, room);
}

}  // namespace

template <class T>
std::size_t compress_group(const T* x, int m, const Grid<T>& grid, std::uint8_t* out, std::size_t room, Tally* tally,
                           const Marks<T>* marks) noexcept {
  Codes q = {};
  Lanes lanes = {};
  GroupSpec spec{};
  spec.m = m;
  for (int i = 0; i < m; ++i) {
    const T v = element(x, i);
    const bool kept = marks && marks->keeps(v);
    if (kept || !quantise(v, grid, &q[i]) || (marks && marks->is_mark(dequantise(q[i], grid)))) {
      lanes[i / kBlock] |= 1u << (i % kBlock);
      q[i] = 0;
    }
    spec.wide = spec.wide || magnitude(q[i]) > kNarrowLimit;
  }
  fill_codes(lanes, m, q);
  Tally own;
  count(q, m, lanes, &own);
  const bool alike = own.exceptions == 0 || all_alike(x, lanes);
  spec.predictor = choose_predictor(q, m, spec.wide, orders_for(grid.orders, m, own.bound, alike));
  fresh_base(q, m, spec.predictor, spec.wide, &spec.base, &spec.slope);
  const std::size_t verbatim = 1 + static_cast<std::size_t>(m) * sizeof(T) / 4;
  const std::size_t words =
      write_group(spec, q, lanes, {&write_input<T>, const_cast<T*>(x), false}, out, std::min(room, 4 * (verbatim - 1)));
  if (words != kNoRoom) {
    tally->merge(own);
    return words;
  }
  tally->exceptions += static_cast<std::uint64_t>(m);
  return write_verbatim(x, m, out, room);
}
template std::size_t compress_group<float>(const float*, int, const Grid<float>&, std::uint8_t*, std::size_t, Tally*,
                                           const Marks<float>*) noexcept;
template std::size_t compress_group<double>(const double*, int, const Grid<double>&, std::uint8_t*, std::size_t, Tally*,
                                            const Marks<double>*) noexcept;

std::size_t compress_group(const std::int32_t* x, int m, Coding orders, std::uint8_t* out, std::size_t room,
                           Tally* tally) noexcept {
  return compress_integers(x, m, orders, out, room, tally);
}
std::size_t compress_group(const std::int64_t* x, int m, Coding orders, std::uint8_t* out, std::size_t room,
                           Tally* tally) noexcept {
  return compress_integers(x, m, orders, out, room, tally);
}

template <class T>
void decode_exceptions(const GroupView& g, std::uint32_t divisor, T* y) noexcept {
  ExceptionReader<T> reader(g);
  if (g.uniform) {
    const T v = divisor > 1 ? reader.mean(divisor) : reader.value();
    const auto put = [&](int i) { set_element(y, i, v); };
    for (int b = 0; b < kBlocks; ++b) {
      if (g.lanes[b] == ~0u)
        for (int i = kBlock * b; i < kBlock * (b + 1); ++i) put(i);
      else
        for (std::uint32_t left = g.lanes[b]; left; left &= left - 1) put(kBlock * b + std::countr_zero(left));
    }
    return;
  }
  for_each_exception(g.lanes, [&](int i) {
    const T v = divisor > 1 ? reader.mean(divisor) : reader.value();
    set_element(y, i, v);
    reader.next();
  });
}
template void decode_exceptions<float>(const GroupView&, std::uint32_t, float*) noexcept;
template void decode_exceptions<double>(const GroupView&, std::uint32_t, double*) noexcept;

template <class T>
bool decode_group(const GroupView& g, const Info& info, std::uint32_t divisor, T* y) noexcept {
  Codes q;
  read_codes(g, q);
  if constexpr (std::is_integral_v<T>) {
    for (int i = 0; i < g.m; ++i) {
      const std::int64_t v = divisor > 1 ? q[i] / static_cast<std::int64_t>(divisor) : q[i];
      set_element(y, i, static_cast<T>(v));
      if (static_cast<T>(v) != v) return false;
    }
  } else {
    const bool single = sizeof(T) == 4 && divisor == 1 && info.code_bound <= kSingleLimit;
    const CodeMean mean(info.width, divisor);
    for (int i = 0; i < g.m; ++i) {
      if (single)
        set_element(y, i, static_cast<T>(q[i]) * static_cast<T>(info.width));
      else
        set_element(y, i, divisor > 1 ? static_cast<T>(mean(q[i])) : code_value<T>(q[i], info.width));
    }
    if (g.exceptions) decode_exceptions(g, divisor, y);
  }
  return true;
}
template bool decode_group<float>(const GroupView&, const Info&, std::uint32_t, float*) noexcept;
template bool decode_group<double>(const GroupView&, const Info&, std::uint32_t, double*) noexcept;
template bool decode_group<std::int32_t>(const GroupView&, const Info&, std::uint32_t, std::int32_t*) noexcept;
template bool decode_group<std::int64_t>(const GroupView&, const Info&, std::uint32_t, std::int64_t*) noexcept;

}  // namespace stretto::codec
