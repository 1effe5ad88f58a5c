// Costs of a device's operations: the figures of a profile's `device` (docs/command.md).
#pragma once

#include <cstddef>

namespace stretto::bench {

struct DeviceCosts {
  double launch = 0;             // host's seconds to enqueue a kernel
  double look = 0;               // seconds until the host knows that no work is left
  double staging = 0;            // seconds per byte copied to pinned memory
  double copy = 0, combine = 0;  // seconds per byte copied on the device; per byte of result of raw + raw
  double ratio = 1;              // compression ratio of the codec's figures
  double call = 0;               // least seconds of a codec's kernel
  double compress = 0, decompress = 0, add = 0, fused = 0;  // seconds per byte of raw values
};

// For float32 on the current device, with `large` bytes of values and a sixteenth of them. Throws std::runtime_error.
DeviceCosts measure_device(const float* values, std::size_t large, double eps, int repeats);

}  // namespace stretto::bench
