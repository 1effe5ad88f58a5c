// The examination, for any transport of the job.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "node/group/exchange.hpp"

namespace stretto::doctor {

inline void check(Status s) {
  if (s != Status::ok) throw std::runtime_error(message());
}

// The ranks of a job, and those on this host, in the same order.
struct Job {
  std::unique_ptr<node::Exchange> all, here;
  std::string over;  // the transport and its version, in the names of profiles: "Open MPI 5.0.11"
  // Collective. The transport of device memory that bypasses the host; "": none.
  std::function<std::string()> by_transport{};
};

// The name of a transport's device messages, or "". Collective.
std::string device_messages_of(backend::Transport& transport);

// Collective. Reads the arguments, connects the ranks by `meet`, and prints the report on rank 0. Returns the exit
// status; throws std::runtime_error on failure.
int examine(int argc, char** argv, int rank, const std::function<Job()>& meet);

}  // namespace stretto::doctor
