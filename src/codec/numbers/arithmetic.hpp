#pragma once

#include <cstdint>

#include "codec/numbers/grid.hpp"
#include "codec/stream/group.hpp"

namespace stretto::codec {

struct Tally {
  std::uint64_t bound = 0;
  std::uint64_t exceptions = 0;
  void merge(const Tally& t) noexcept {
    if (t.bound > bound) bound = t.bound;
    exceptions += t.exceptions;
  }
};

template <class T>
class Marks;

// `marks` (optional) selects kept values. Returns the words written, or kNoRoom.
template <class T>
std::size_t compress_group(const T* x, int m, const Grid<T>& grid, std::uint8_t* out, std::size_t room, Tally* tally,
                           const Marks<T>* marks = nullptr) noexcept;
std::size_t compress_group(const std::int32_t* x, int m, Coding orders, std::uint8_t* out, std::size_t room,
                           Tally* tally) noexcept;
std::size_t compress_group(const std::int64_t* x, int m, Coding orders, std::uint8_t* out, std::size_t room,
                           Tally* tally) noexcept;

struct ResultSpec {
  Type type{};
  double width = 0;
  bool wide = false;
};

std::size_t add_groups(const GroupView& a, const GroupView& b, bool negate_b, const ResultSpec& spec, std::uint8_t* out,
                       std::size_t room, Tally* tally) noexcept;
std::size_t select_groups(const GroupView& a, const GroupView& b, bool maximum, const ResultSpec& spec,
                          std::uint8_t* out, std::size_t room, Tally* tally) noexcept;
std::size_t scale_group(const GroupView& a, std::int32_t k, const ResultSpec& spec, std::uint8_t* out, std::size_t room,
                        Tally* tally) noexcept;

// Re-encodes `length` places from `first` on of each source, for slice and concatenate. The predictor is the sources'
// largest, and signed if a code is negative.
std::size_t splice_groups(const GroupView* from, int sources, const int* first, const int* length,
                          const ResultSpec& spec, std::uint8_t* out, std::size_t room, Tally* tally) noexcept;

// divisor > 1: means. False if an integer code does not fit T.
template <class T>
bool decode_group(const GroupView& g, const Info& info, std::uint32_t divisor, T* y) noexcept;

// Writes only the exceptions' places in y.
template <class T>
void decode_exceptions(const GroupView& g, std::uint32_t divisor, T* y) noexcept;

}  // namespace stretto::codec
