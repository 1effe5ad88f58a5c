// How each pair of ranks of a host can see each other's memory, found out by trying, and why it cannot.
#pragma once

#include "facts.hpp"
#include "node/group/exchange.hpp"

namespace stretto::doctor {

// Collective over the ranks of a host. Two accesses, tried by every rank on every other:
//   kernel       read 8 random bytes of the other with process_vm_readv
//   descriptor   open its shared memory by /proc/PID/fd (where that fails, SCM_RIGHTS serves)
// [{"way", "from", "to", "why"}], the refused pairs, by ranks of `here`; at most 64, and the number of all.
// Throws std::runtime_error where the ranks cannot tell each other.
Json failing_pairs(node::Exchange& here);

}  // namespace stretto::doctor
