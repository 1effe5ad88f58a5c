#include "codec/shape/quantise.hpp"

#include <algorithm>
#include <cstring>

#include "base/float_environment.hpp"
#include "codec/driver.hpp"
#include "codec/group_encoder.hpp"
#include "codec/numbers/quantise.hpp"
#include "codec/stream/group_places.hpp"

namespace stretto::codec::shaped {
namespace {

std::size_t head_bytes(std::uint32_t word) noexcept {
  const auto predictor = static_cast<Predictor>(word & 3);
  const bool base = predictor >= Predictor::first && !(word & kShortBaseBit);
  return 4 + (base ? 4 : 0) + (predictor == Predictor::second ? 4 : 0);
}

// Writes the group to `p`. Returns the words.
std::size_t without_exceptions(const GroupView& view, std::uint8_t* p, std::size_t words) noexcept {
  const auto word = load<std::uint32_t>(p);
  const std::size_t head = head_bytes(word);
  const auto behind = static_cast<std::size_t>(p + 4 * words - view.planes);
  store(p, word & ~kExceptionsBit);
  std::memmove(p + head, view.planes, behind);
  return (head + behind) / 4;
}

// kReadSlack bytes after the words are writable. False if wide.
template <class T>
bool read_codes32(std::uint8_t* p, std::size_t words, int m, const Kernels& kernels, std::int32_t* q,
                  std::uint32_t* lanes) noexcept {
  const auto& k = value_kernels<T>(kernels);
  if (words == 0) {
    std::fill_n(q, m, 0);
    return true;
  }
  if (m == kGroup && decode_codes<T>(k, p, words, q)) return true;
  constexpr Type stored = sizeof(T) == 4 ? Type::f32 : Type::f64;
  GroupView view;
  if (!parse_group(p, words, m, stored, &view) || view.wide) return false;
  if (view.exceptions) std::memcpy(lanes, view.lanes, sizeof(Lanes));
  if (view.exceptions && !view.verbatim && view.planes && m == kGroup) {
    words = without_exceptions(view, p, words);
    if (decode_codes<T>(k, p, words, q)) return true;
    view = {};
    if (!parse_group(p, words, m, stored, &view)) return false;
  }
  Codes codes;
  read_codes(view, codes);
  for (int i = 0; i < m; ++i) q[i] = static_cast<std::int32_t>(codes[i]);
  return true;
}

// A verbatim group may hold values with codes.
template <class T>
bool quantise_each(const T* v, int m, const Grid<T>& grid, const Marks<T>& marks, std::int32_t* q, std::uint32_t* lanes,
                   Tally* tally) noexcept {
  Codes codes = {};
  std::fill_n(lanes, kBlocks, 0u);
  bool fits = true;
  for (int i = 0; i < m; ++i) {
    const T x = element(v, i);
    if ((marks.any() && marks.keeps(x)) || !codec::quantise(x, grid, &codes[i]) ||
        (marks.any() && marks.is_mark(dequantise(codes[i], grid)))) {
      lanes[i / kBlock] |= 1u << (i % kBlock);
      codes[i] = 0;
    }
    fits = fits && magnitude(codes[i]) <= kNarrowLimit;
  }
  fill_codes(lanes, m, codes);
  count(codes, m, lanes, tally);
  for (int i = 0; i < m; ++i) q[i] = static_cast<std::int32_t>(codes[i]);
  return fits;
}

template <class T>
bool quantise_group(const T* v, int m, const GroupEncoder<T>& encoder, const MarksFor<T>& marks, std::int32_t* q,
                    std::uint32_t* lanes, Tally* tally) noexcept {
  if constexpr (std::is_integral_v<T>) {
    for (int i = 0; i < m; ++i) {
      const T value = element(v, i);
      q[i] = static_cast<std::int32_t>(value);
      if (q[i] != value) return false;
      tally->bound = std::max(tally->bound, magnitude(value));
    }
    return true;
  } else {
    std::uint8_t group[kKernelRoom + kReadSlack];
    Tally own;
    const std::size_t words = marks.encode(encoder, v, m, group, kKernelRoom, &own);
    if (words == kNoRoom) return false;
    if (words > 0 && load<std::uint32_t>(group) == kVerbatimWord)
      return quantise_each(v, m, encoder.grid, marks.marks, q, lanes, tally);
    tally->merge(own);
    return read_codes32<T>(group, words, m, encoder.kernels, q, lanes);
  }
}

// Groups of exceptions alone have the last code before them, or else the first after.
void fill_groups(std::uint64_t count, std::int32_t* q, const std::uint32_t* lanes) noexcept {
  const Layout layout(count);
  const auto is_empty = [&](std::uint64_t g) {
    const std::uint32_t* const of_group = lanes + g * kBlocks;
    int exceptions = 0;
    for (int b = 0; b < kBlocks; ++b) exceptions += std::popcount(of_group[b]);
    return exceptions == layout.group_size(g);
  };
  std::uint64_t first = 0;  // group with a code
  while (first < layout.groups && is_empty(first)) ++first;
  if (first == layout.groups) {
    std::fill_n(q, count, 0);
    return;
  }
  std::fill_n(q, first * kGroup, q[first * kGroup]);
  for (std::uint64_t g = first + 1; g < layout.groups; ++g)
    if (is_empty(g)) std::fill_n(q + g * kGroup, layout.group_size(g), q[g * kGroup - 1]);
}

template <class T>
bool quantise_as(const void* x, std::uint64_t count, Info* info, std::int32_t* q, std::uint32_t* lanes,
                 const Kernels& kernels, const Options& options) noexcept {
  const Layout layout(count);
  const GroupEncoder<T> encoder(*info, kernels);
  const MarksFor<T> marks(info->type, encoder.grid, options);
  Tally tallies[kMaxParts];
  bool narrow[kMaxParts] = {};
  const int parts = parts_of(layout.groups, options.parallel);
  auto part = [&](int i, std::uint64_t from, std::uint64_t to) {
    const FloatEnvironment environment;
    T buffer[kGroup];
    bool fits = true;
    for (std::uint64_t g = from; g < to && fits; ++g) {
      const int m = layout.group_size(g);
      const T* v = group_values<T>(info->type, x, g * kGroup, m, buffer);
      fits =
          quantise_group<T>(v, m, encoder, marks, q + g * kGroup, lanes ? lanes + g * kBlocks : nullptr, &tallies[i]);
    }
    narrow[i] = fits;
  };
  run_parts(layout.groups, parts, options.parallel, part);
  Tally all;
  for (int i = 0; i < parts; ++i) all.merge(tallies[i]);
  info->code_bound = all.bound;
  info->exceptions = all.exceptions;
  if (!std::all_of(narrow, narrow + parts, [](bool fits) { return fits; })) return false;
  if (all.exceptions > 0) fill_groups(count, q, lanes);
  return true;
}

}  // namespace

bool quantise(const void* x, std::uint64_t count, Info* info, std::int32_t* q, std::uint32_t* lanes,
              const Kernels& kernels, const Options& options) noexcept {
  return with_stored_type(info->type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return quantise_as<T>(x, count, info, q, lanes, kernels, options);
  });
}

}  // namespace stretto::codec::shaped
