#pragma once

#include <memory>

#include "backend/module.hpp"
#include "base/status.hpp"

namespace stretto::modules {

// Collective. As Module::transport_in.
Status make_ucx_transport(carrier::Store& store, const backend::Place& place,
                          std::unique_ptr<backend::Transport>* transport) noexcept;

}  // namespace stretto::modules
