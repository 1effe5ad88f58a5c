#pragma once

#include "base/status.hpp"
#include "device/plugin.hpp"

namespace stretto::device {

// Process-wide: all addresses count as `*kind` on the current device; null: CUDA is asked.
void assume(const MemoryKind* kind) noexcept;

Status locate(const Plugin& plugin, const void* p, Location* where) noexcept;

// For errors that lose no device.
Status told(const Plugin& plugin, int error, const char* what) noexcept;

}  // namespace stretto::device
