// The golden streams, which fix the meaning of the published format.
#pragma once

#include <map>
#include <string>

#include "../support.hpp"
#include "codec/codec.hpp"

namespace stretto::codec {

struct Golden {
  std::map<std::string, Stream> accept;  // `NAME`, or `NAME.meanN`: decoded with divisor N
  std::map<std::string, Stream> refuse;  // malformed as the name says
};

// Made by the reference kernels from numbers that need no library of mathematics; the same on every machine.
Golden golden();

// The divisor in a name, else 1.
std::uint32_t divisor_of(const std::string& name);

// The values that an accepted stream decodes to by the reference.
Stream golden_values(const std::string& name, const Stream& s);

// The values whose stream docs/format.md shows byte by byte, and their bound.
inline constexpr float kExample[] = {10, 11, 12, 13, 14, 1e20f, 1e20f, 17, 18, 19, 20, 22,
                                     24, 26, 28, 30, 32, 31,    30,    29, 28, 27, 26, 25};
inline constexpr double kExampleEps = 0.25;

}  // namespace stretto::codec
