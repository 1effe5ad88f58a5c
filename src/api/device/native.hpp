#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/device_comm.hpp"

namespace stretto::api {

// Borrows both. With a stream, a call returns when its collective is enqueued there.
std::unique_ptr<backend::Backend> make_device_backend(backend::DeviceComm& library, engine::Engine& engine);

}  // namespace stretto::api
