#pragma once

#include <memory>

#include "carrier/carrier.hpp"
#include "modules/ucx/worker.hpp"

namespace stretto::modules {

// `worker` has joined and outlives the carrier; a channel has at most one carrier, on every rank. A wait makes progress
// for the whole worker. Messages of 32 KiB and more take the `connections` (at most the worker's) to a peer in turns of
// their tags, those of 128 KiB and more all.
Status make_ucx_carrier(UcxWorker& worker, unsigned channel, unsigned connections,
                        std::unique_ptr<carrier::Carrier>* carrier) noexcept;

}  // namespace stretto::modules
