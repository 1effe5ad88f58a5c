#pragma once

#include "codec/codec.hpp"
#include "model/profile/profile.hpp"

namespace stretto::model {

// This core's speed at the codec's four operations, on 32 Ki values of float32 in cache: the least of a few runs. Takes
// 0.1 ms, 0.5 ms for dense streams. Not known if memory lacks.
CodecProbe measure_codec(codec::Coding coding) noexcept;

}  // namespace stretto::model
