// Ranks are threads of one process. The side that comes second copies the message; a send waits for its receive.
#pragma once

#include <memory>
#include <vector>

#include "carrier/carrier.hpp"

namespace stretto::carrier {

class ThreadGroup;

std::shared_ptr<ThreadGroup> make_thread_group(int ranks);

std::unique_ptr<Carrier> make_thread_carrier(std::shared_ptr<ThreadGroup> group, int rank);

}  // namespace stretto::carrier
