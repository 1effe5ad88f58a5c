// Processes whose end this one wants to learn of: a descriptor each, shared by all groups that the process is a peer in.
#pragma once

#include <sys/types.h>

#include <memory>

#include "node/handle.hpp"

namespace stretto::node {

// A pidfd, readable once the process has ended, even while it waits to be reaped; `token` is its process_token(). Null where
// there is none: before Linux 5.3, without memory for it, or where these descriptors would be more than a quarter of those that this process may
// open (the soft RLIMIT_NOFILE): the rest are the program's. A wait for such a process has its limit alone.
std::shared_ptr<const Descriptor> watch_process(pid_t pid, const Token& token) noexcept;

}  // namespace stretto::node
