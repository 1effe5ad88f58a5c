// Communicators owned by Python.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "stretto/stretto.h"

namespace stretto::python {

// A group of ranks that are threads. Freed after its communicators, which share it.
class ThreadGroup {
 public:
  explicit ThreadGroup(int ranks);
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  stretto_thread_group get() const noexcept { return group_; }

  // Call when a rank has failed, so that the others stop waiting for it.
  void cancel() noexcept { cancelled_ = true; }
  bool cancelled() const noexcept { return cancelled_; }

 private:
  stretto_thread_group group_ = nullptr;
  std::atomic<bool> cancelled_ = false;
};

class Communicator {
 public:
  Communicator(stretto_comm comm, std::shared_ptr<ThreadGroup> group) noexcept;
  // frees a communicator of threads; for processes freeing is collective, and other ranks may be absent
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Throws if it has been freed.
  stretto_comm get() const;

  void free();
  int rank() const { return stretto_comm_rank(get()); }
  int size() const { return stretto_comm_size(get()); }
  bool cancelled() const noexcept { return group_ && group_->cancelled(); }

 private:
  stretto_comm comm_;
  std::shared_ptr<ThreadGroup> group_;
};

std::shared_ptr<Communicator> of_store(nanobind::object store, int rank, int ranks, std::optional<std::string> name,
                                       double timeout, std::optional<std::string> transports);
std::shared_ptr<Communicator> of_environment(std::optional<std::string> name, double timeout,
                                             std::optional<std::string> transports);

}  // namespace stretto::python
