#pragma once

#include <memory>

#include "backend/module.hpp"
#include "base/status.hpp"

namespace stretto::modules {

Status make_ucx_transport(carrier::Store& store, const backend::Place& place,
                          std::unique_ptr<backend::Transport>* transport) noexcept;

}  // namespace stretto::modules
