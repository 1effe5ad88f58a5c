// Ratios of published stream formats on the real fields, computed from the formats' definitions, including index and
// headers: original float32 bytes over stream bytes, fills and NaN set to 0, bounds relative to the range.
// docs/measurements.md names the formats.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace stretto::bench {

struct Published {
  double blocks32;  // cuSZp2: blocks of 32 values, the better of Plain-FLE and Outlier-FLE for each
  double
      tiles256;  // the newest of the class: tiles of 256, first or second differences, optional mean, chosen per tile
  double
      groups;  // groups of 1,024: base, kind, index entry, planes for each 32 values, order 0, 1 or 2 chosen per group
  double best() const { return std::max({blocks32, tiles256, groups}); }
};

struct PublishedField {
  std::string_view field;
  std::array<Published, 3> at;  // bounds 1e-2, 1e-3, 1e-4
};

inline constexpr std::array<const char*, 3> kRatioBounds{"1e-2", "1e-3", "1e-4"};

// clang-format off
inline constexpr PublishedField kPublished[] = {
    {"marmousi_rtm",     {{{89.3, 89.3, 114.0},   {26.8, 27.3, 27.5}, {13.1, 14.2, 14.7}}}},
    {"glosea4_ts",       {{{11.0, 11.5, 12.7},    {5.8, 6.2, 6.4},    {3.7, 3.9, 4.0}}}},
    {"gpt_grad_step10",  {{{109.6, 108.7, 236.7}, {19.9, 19.5, 22.7}, {7.1, 7.0, 7.8}}}},
    {"les_wmag",         {{{8.9, 9.0, 9.2},       {4.8, 4.9, 4.9},    {3.2, 3.2, 3.2}}}},
    {"ostia_sst",        {{{7.3, 7.4, 7.9},       {5.1, 4.9, 5.3},    {3.6, 3.4, 3.6}}}},
    {"canesm5_siconc",   {{{24.1, 24.1, 26.4},    {16.4, 16.5, 17.6}, {11.8, 11.9, 12.4}}}},
    {"wrf_qrain_qcloud", {{{32.4, 27.2, 29.5},    {17.2, 14.7, 15.6}, {10.4, 9.1, 9.7}}}},
    {"marmousi_vp",      {{{13.0, 13.9, 16.7},    {7.7, 8.3, 9.5},    {4.6, 4.9, 5.4}}}},
};
// clang-format on

inline std::optional<Published> published(std::string_view field, std::size_t bound) {
  for (const PublishedField& p : kPublished) {
    if (p.field == field) return p.at[bound];
  }
  return std::nullopt;
}

}  // namespace stretto::bench
