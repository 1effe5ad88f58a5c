// The speed of this processor's core at the codec's work.
#pragma once

#include "codec/codec.hpp"
#include "model/profile/profile.hpp"

namespace stretto::model {

// Core time of the four operations on 32 Ki fixed values of float32, the least of a few runs: in cache, and not
// disturbed by other processes. Takes 0.1 ms for fixed streams and 0.5 ms for dense ones. Not known if memory lacks.
CodecProbe measure_codec(codec::Coding coding) noexcept;

}  // namespace stretto::model
