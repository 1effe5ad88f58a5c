// Other code asks for a property, and names a payload only for a special case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace stretto::payload {

enum class Kind : std::uint8_t { raw, cprp2p, recompress, homomorphic, fused, bfloat16 };

enum class Form : std::uint8_t {
  values,
  streams,  // within a bound, of any length, with a header
  halves    // float32 as bfloat16: without a bound, of half the length, of any bytes
};

struct Traits {
  Kind kind;
  const char* name;
  Form form;
  bool forwards;    // an arrived block is sent on as it is; otherwise each sender compresses it anew
  bool adds_codes;  // streams are combined exactly, without decoding; otherwise decoded values are, in their own type
  bool fuses;       // one pass adds raw values to a stream
};

inline constexpr Traits kAllTraits[] = {
    {Kind::raw, "raw", Form::values, true, false, false},
    {Kind::cprp2p, "cprp2p", Form::streams, false, false, false},
    {Kind::recompress, "recompress", Form::streams, true, false, false},
    {Kind::homomorphic, "homomorphic", Form::streams, true, true, false},
    {Kind::fused, "fused", Form::streams, true, true, true},
    {Kind::bfloat16, "bfloat16", Form::halves, true, false, false},
};

constexpr const Traits& traits(Kind k) noexcept { return kAllTraits[static_cast<std::size_t>(k)]; }

constexpr bool is_compressed(Kind k) noexcept { return traits(k).form != Form::values; }
constexpr bool keeps_bound(Kind k) noexcept { return traits(k).form == Form::streams; }

constexpr const char* name(Kind k) noexcept { return traits(k).name; }

// Payloads that compress a value once are alike where a call only moves data.
constexpr const char* name(Kind k, bool reduces) noexcept {
  return !reduces && keeps_bound(k) && traits(k).forwards ? "compress_once" : name(k);
}

static_assert([] {
  for (std::size_t i = 0; i < std::size(kAllTraits); ++i)
    if (static_cast<std::size_t>(kAllTraits[i].kind) != i) return false;
  return true;
}());

}  // namespace stretto::payload
