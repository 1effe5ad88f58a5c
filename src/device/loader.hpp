#pragma once

#include "base/status.hpp"
#include "device/plugin.hpp"

namespace stretto::device {

// Finds the plugin and a device, once, for the life of the process: $STRETTO_CUDA_PLUGIN if set, else
// libstretto_cuda.so beside this code's library or program, else in the loader's path. Null, with `unsupported` and the
// searched files, without a plugin of this version or a usable device.
Status find_plugin(const Plugin** plugin) noexcept;

// An address may be a device's. Loads the plugin only if the process has loaded CUDA's driver.
bool may_be_addressed() noexcept;

}  // namespace stretto::device
