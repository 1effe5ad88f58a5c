#pragma once

#include <memory>

#include "backend/module.hpp"
#include "base/status.hpp"

namespace stretto::modules::nccl {

Status make_id(backend::DeviceCommId* id) noexcept;
Status make_comm(const backend::DevicePlace& place, const backend::DeviceCommId& id,
                 std::unique_ptr<backend::DeviceComm>* made) noexcept;

}  // namespace stretto::modules::nccl
