#pragma once

#include "base/status.hpp"
#include "device/plugin.hpp"

namespace stretto::device {

// Looks once a process: $STRETTO_CUDA_PLUGIN, else libstretto_cuda.so beside this code's library or program, else in
// the loader's path. Null, with `unsupported` and the searched files: no plugin of this version or no usable device.
Status find_plugin(const Plugin** plugin) noexcept;

// An address may be a device's. Loads the plugin only if CUDA's driver is loaded.
bool may_be_addressed() noexcept;

}  // namespace stretto::device
