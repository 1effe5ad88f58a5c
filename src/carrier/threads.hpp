// Ranks as threads of one process: a group that p threads share, and one carrier for each of them.
//
// A message is copied once, from the sender's memory to the receiver's, by the side that comes second. Messages are not
// buffered, so a send waits for its receive.
#pragma once

#include <memory>
#include <vector>

#include "carrier/carrier.hpp"

namespace stretto::carrier {

// The mailboxes of p ranks. Shared by their carriers and alive as long as one of them.
class ThreadGroup;

std::shared_ptr<ThreadGroup> make_thread_group(int ranks);

// The carrier of one rank; to be used by one thread at a time.
std::unique_ptr<Carrier> make_thread_carrier(std::shared_ptr<ThreadGroup> group, int rank);

}  // namespace stretto::carrier
