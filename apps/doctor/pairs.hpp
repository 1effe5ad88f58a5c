// Tests which accesses each pair of ranks of a host has to the other's memory, and the reasons of failures.
#pragma once

#include "facts.hpp"
#include "node/group/exchange.hpp"

namespace stretto::doctor {

// Collective over the ranks of a host. Every rank tries two accesses to every other:
//   kernel       read 8 random bytes of the other with process_vm_readv
//   descriptor   open its shared memory by /proc/PID/fd (if that fails, SCM_RIGHTS serves)
// Returns [{"way", "from", "to", "why"}], the refused pairs, by ranks of `here`; at most 64, and the number of all.
// Throws std::runtime_error if the ranks cannot communicate.
Json failing_pairs(node::Exchange& here);

}  // namespace stretto::doctor
