#pragma once

#include <cstdint>
#include <memory>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "model/profile/profile.hpp"
#include "stretto/stretto.h"

namespace stretto::api {

// Collective. All ranks get a communicator, or none does. A null `comm` on one rank fails with invalid_argument on all.
// `carrier`: of the transport's messages, for predictions.
Status create(std::unique_ptr<backend::Transport> transport, model::Carrier carrier, stretto_comm* comm) noexcept;

// This rank's host, as create() tells hosts apart; equal in every process.
std::uint64_t host_hash() noexcept;

}  // namespace stretto::api
