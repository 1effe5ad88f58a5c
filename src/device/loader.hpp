// Finds the plugin library and a device, once, when first asked.
#pragma once

#include "base/status.hpp"
#include "device/plugin.hpp"

namespace stretto::device {

// Finds the plugin, which lives as long as the process. Null, with status `unsupported` and a message that names the searched
// files, if there is no plugin library, only one of another version, or no device that CUDA can use. The library is
// $STRETTO_CUDA_PLUGIN if that is set, else libstretto_cuda.so beside the library or program that holds this code, else
// wherever the loader finds it.
Status find_plugin(const Plugin** plugin) noexcept;

// True if an address may be a device's: a plugin is loaded. It is loaded now where this process has loaded CUDA's driver;
// a process without pays next to nothing.
bool may_be_addressed() noexcept;

}  // namespace stretto::device
