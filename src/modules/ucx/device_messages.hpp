#pragma once

#include <memory>

#include "carrier/device_messages.hpp"
#include "modules/ucx/worker.hpp"

namespace stretto::modules {

// `worker` has joined its session, takes_device_memory(), outlives the object and has only one. A poll makes progress
// for the whole worker.
Status make_ucx_device_messages(UcxWorker& worker, std::unique_ptr<carrier::DeviceMessages>* made) noexcept;

}  // namespace stretto::modules
