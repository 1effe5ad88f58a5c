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

// Equal in every process under one kernel, which hosts of several names may share; with `cores`, under one kernel and
// on the same cores. 0: unknown.
std::uint64_t kernel_hash(bool cores) noexcept;

// So many ranks of the program, or more, run under this rank's kernel. Waits in memory made later yield if its online
// cores are fewer, or, where all may use the same cores, these.
void found_under_kernel(int ranks, bool same_cores) noexcept;

}  // namespace stretto::api
