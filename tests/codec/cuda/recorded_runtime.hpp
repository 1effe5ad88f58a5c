// Records of recorded_runtime.cpp: the calls of CUDA's runtime with an effect, in order.
#pragma once

#include <cstddef>

namespace stretto::codec::cuda {

struct Recorded {
  enum Kind { memset, kernel, copy, other } kind;  // other: allocations, events, waits, ...
  const void* stream;
  const void* to;     // memset, copy
  const void* from;   // copy
  std::size_t bytes;  // memset, copy
  const char* name;   // kernel: mangled
  unsigned blocks, threads;
};

constexpr int kRecordedMultiprocessors = 132;

// The calls since the last question; symbol of the plugin that is linked with the recorder.
using TakeRecorded = std::size_t(Recorded* calls, std::size_t room);
constexpr const char* kTakeRecorded = "stretto_take_recorded";

}  // namespace stretto::codec::cuda
