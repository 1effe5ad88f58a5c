// The payloads, a row each. Other code asks for a payload's properties; only what is special to one names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace stretto::payload {

enum class Kind : std::uint8_t { raw, cprp2p, recompress, homomorphic, fused, bfloat16 };

// Of a block in a message.
enum class Form : std::uint8_t {
  values,   // as they are
  streams,  // of the codec: within a bound, of any length, with a header
  halves    // float32 as bfloat16: without a bound, of half the length, of any bytes
};

struct Traits {
  Kind kind;
  const char* name;
  Form form;
  bool forwards;    // what has arrived is sent on as it is; else each sender compresses anew
  bool adds_codes;  // blocks meet as streams, exactly; else decoded values meet, in their own type
  bool fuses;       // sums: raw values join a stream in one pass
};

inline constexpr Traits all_traits[] = {
    {Kind::raw, "raw", Form::values, true, false, false},
    {Kind::cprp2p, "cprp2p", Form::streams, false, false, false},
    {Kind::recompress, "recompress", Form::streams, true, false, false},
    {Kind::homomorphic, "homomorphic", Form::streams, true, true, false},
    {Kind::fused, "fused", Form::streams, true, true, true},
    {Kind::bfloat16, "bfloat16", Form::halves, true, false, false},
};

constexpr const Traits& traits(Kind k) noexcept { return all_traits[static_cast<std::size_t>(k)]; }

constexpr bool is_compressed(Kind k) noexcept { return traits(k).form != Form::values; }
constexpr bool keeps_bound(Kind k) noexcept { return traits(k).form == Form::streams; }

constexpr const char* name(Kind k) noexcept { return traits(k).name; }

// Of a call that only moves data (`reduces` false): all that compress a value once do the same.
constexpr const char* name(Kind k, bool reduces) noexcept {
  return !reduces && keeps_bound(k) && traits(k).forwards ? "compress_once" : name(k);
}

static_assert([] {
  for (std::size_t i = 0; i < std::size(all_traits); ++i)
    if (static_cast<std::size_t>(all_traits[i].kind) != i) return false;
  return true;
}());

}  // namespace stretto::payload
