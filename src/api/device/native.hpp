#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/device_comm.hpp"

namespace stretto::api {

// Borrows both. A call with a stream returns when its collective is enqueued there; a call without waits for its end.
// Throws std::bad_alloc.
std::unique_ptr<backend::Backend> make_device_backend(backend::DeviceComm& library, engine::Engine& engine);

}  // namespace stretto::api
