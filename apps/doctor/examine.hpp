// The examination, whatever the ranks of the job meet over.
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

// The ranks of a job, and those of them that are on this host, in the same order.
struct Job {
  std::unique_ptr<node::Exchange> all, here;
  std::string over;  // what moves their messages, and its version, as profiles name it: "Open MPI 5.0.11"
  std::function<std::string()>
      by_transport{};  // what moves memory of devices without the host; "": nothing. Collective
};

// What a transport moves memory of devices with, or "". Collective.
std::string device_messages_of(backend::Transport& transport);

// Collective. Reads the arguments, meets the other ranks by `meet`, and prints the report on rank 0. The exit status; throws
// std::runtime_error where something failed.
int examine(int argc, char** argv, int rank, const std::function<Job()>& meet);

}  // namespace stretto::doctor
