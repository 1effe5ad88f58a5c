#pragma once

#include <memory>

#include "carrier/carrier.hpp"
#include "modules/ucx/worker.hpp"

namespace stretto::modules {

// `worker` has joined its session and outlives the carrier; each of its channels has at most one carrier, equal on
// every rank. Waits make progress for the whole worker. Long messages take the `connections` to a peer in turns, longer
// ones all (docs/carriers.md).
Status make_ucx_carrier(UcxWorker& worker, unsigned channel, unsigned connections,
                        std::unique_ptr<carrier::Carrier>* carrier) noexcept;

}  // namespace stretto::modules
