// The reference of the kernels (docs/format.md, section 3).
#pragma once

#include <cstdint>

#include "codec/stream/format.hpp"

namespace stretto::codec {

using Codes = std::int64_t[kGroup];
using Lanes = std::uint32_t[kBlocks];  // bit j of word b: place 32 b + j is an exception

struct GroupView {
  int m = 0;
  Predictor predictor = Predictor::none_unsigned;
  bool wide = false;
  bool verbatim = false;
  bool exceptions = false;
  bool uniform = false;
  bool sums = false;
  std::int64_t base = 0, slope = 0;
  std::uint8_t width[kBlocks] = {};
  const std::uint8_t* planes = nullptr;
  const std::uint8_t* values = nullptr;
  std::size_t values_bytes = 0;
  Lanes lanes = {};
  int exception_count = 0;
  const std::uint8_t* runs = nullptr;
  std::size_t runs_bytes = 0;
  bool exception(int i) const noexcept { return lanes[i / kBlock] >> (i % kBlock) & 1; }
};

// False: invalid words. `like` (optional): a group of m values that often has the same exceptions.
bool parse_group(const std::uint8_t* p, std::size_t words, int m, Type type, GroupView* g,
                 const GroupView* like = nullptr) noexcept;

// Reads a section of at most `left` bytes into g, whose m is set. Bytes read; 0 if malformed.
std::size_t parse_exceptions(const std::uint8_t* p, std::size_t left, Type type, GroupView* g,
                             const GroupView* like = nullptr) noexcept;

// Reads the section behind its map of `map` bytes, whose places g has. Bytes of the section; 0 if malformed.
std::size_t parse_exception_values(const std::uint8_t* p, std::size_t left, std::size_t map, Type type,
                                   GroupView* g) noexcept;

void read_residuals(const GroupView& g, Codes e) noexcept;

// Exceptions have their fill; places beyond m have 0.
void read_codes(const GroupView& g, Codes q) noexcept;

void fill_codes(const Lanes lanes, int m, Codes q) noexcept;

// Dense streams' orders are for groups that no order makes verbatim, so that no value depends on the coding: full
// groups of codes up to `bound`, whose exceptions are all alike.
constexpr Coding orders_for(Coding orders, int m, std::uint64_t bound, bool alike) noexcept {
  return m == kGroup && bound < 1u << 27 && alike ? orders : Coding::fixed;
}

// Runs that choose the order. In dense streams two neighbours of a run are a sample, else each run.
struct SampledRuns {
  int first, step, length;
};
constexpr SampledRuns sampled_runs(Coding coding) noexcept {
  return coding == Coding::dense ? SampledRuns{64, 128, 32} : SampledRuns{112, 160, 16};
}

// `coding`: fixed or dense.
int choose_order(const Codes q, int m, bool wide, Coding coding) noexcept;
Predictor choose_predictor(const Codes q, int m, bool wide, Coding coding) noexcept;

void fresh_base(const Codes q, int m, Predictor p, bool wide, std::int64_t* base, std::int64_t* slope) noexcept;

struct ExceptionSource {
  // The value of place i; called in order. Bytes written, 0 if they exceed `room`.
  std::size_t (*write)(void* self, int i, std::uint8_t* out, std::size_t room) = nullptr;
  void* self = nullptr;
  bool uniform = false;
};

struct GroupSpec {
  int m = 0;
  Predictor predictor{};
  bool wide = false;
  bool sums = false;
  std::int64_t base = 0, slope = 0;
};

// Returns the bytes; may touch kMostWidthBytes.
inline constexpr std::size_t kMostWidthBytes = 36;
std::size_t write_widths(const std::uint8_t* width, std::uint8_t* out, Form* form) noexcept;

// Words, 0 for an all-zero group; kNoRoom: more than `room` bytes or 65,535 words.
inline constexpr std::size_t kNoRoom = ~std::size_t{0};
std::size_t write_group(const GroupSpec& spec, const Codes q, const Lanes lanes, const ExceptionSource& source,
                        std::uint8_t* out, std::size_t room) noexcept;

}  // namespace stretto::codec
