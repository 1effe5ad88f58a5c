#pragma once

#include "base/status.hpp"
#include "device/plugin.hpp"

namespace stretto::device {

// Finds the plugin and a device, once; the plugin lives as long as the process. Null, with `unsupported` and a message
// that names the searched files, without a plugin library of this version or a usable device. Searches
// $STRETTO_CUDA_PLUGIN if set, else libstretto_cuda.so beside this code's library or program, else the loader's path.
Status find_plugin(const Plugin** plugin) noexcept;

// True if an address may be a device's. Loads the plugin only if the process has loaded CUDA's driver.
bool may_be_addressed() noexcept;

}  // namespace stretto::device
