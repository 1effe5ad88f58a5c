// What a device's work costs, one operation at a time: the figures of a profile's `device` (docs/command.md).
#pragma once

#include <cstddef>

namespace stretto::bench {

struct DeviceCosts {
  double launch = 0;             // seconds that the host takes to enqueue a kernel
  double look = 0;               // seconds until the host knows that nothing is left to do
  double staging = 0;            // seconds a byte copied to pinned memory
  double copy = 0, combine = 0;  // seconds a byte copied on the device; a byte of result of raw + raw
  double ratio = 1;              // of the values that the codec's figures are of
  double call = 0;               // seconds, the least time of a codec's kernel
  double compress = 0, decompress = 0, add = 0, fused = 0;  // seconds a byte of raw values
};

// Of float32 on the current device; `large` bytes of values, and a sixteenth. Throws std::runtime_error.
DeviceCosts measure_device(const float* values, std::size_t large, double eps, int repeats);

}  // namespace stretto::bench
