// The kind of memory that an address is in, as CUDA reports or the program declares.
#pragma once

#include "base/status.hpp"
#include "device/plugin.hpp"

namespace stretto::device {

// From now on, in the whole process, every address is taken for one of this kind, of the current device; nothing: CUDA
// is asked.
void assume(const MemoryKind* kind) noexcept;

Status locate(const Plugin& plugin, const void* p, Location* where) noexcept;

// The status of a function of the plugin that is no device's work.
Status told(const Plugin& plugin, int error, const char* what) noexcept;

}  // namespace stretto::device
