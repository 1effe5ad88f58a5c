// Ranks of a benchmark on devices: processes of an MPI, or threads of one process. Processes that share a GPU take
// turns of milliseconds. Threads use it concurrently, as ranks with a GPU each use theirs.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/device/memory.hpp"
#include "stretto/stretto_mpi.h"
#include "timing/mpi.hpp"

namespace stretto::bench {

// One rank's view. All functions but rank(), size() and are_threads() are collective.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual bool are_threads() const noexcept = 0;
  virtual double largest(double value) = 0;
  virtual stretto_status make(stretto_comm* comm) = 0;

  void meet() { static_cast<void>(largest(0)); }
  // Rank 0's `mine`, on all ranks.
  bool told(bool mine) { return largest(rank() == 0 && mine ? 1 : 0) > 0; }
};

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  bool are_threads() const noexcept override { return false; }
  double largest(double value) override { return timing::largest(MPI_COMM_WORLD, value); }
  stretto_status make(stretto_comm* comm) override { return stretto_comm_create(MPI_COMM_WORLD, comm); }

 private:
  int rank_ = 0, size_ = 1;
};

// State that the threads of a process share.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size) : size_(size), values_(static_cast<std::size_t>(size)), all_(size) {
    if (stretto_thread_group_create(size, &group_) != STRETTO_OK) throw std::runtime_error(stretto_message());
  }
  ~ThreadGroup() { static_cast<void>(stretto_thread_group_free(group_)); }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

 private:
  friend class ThreadRanks;
  int size_;
  std::vector<double> values_;
  std::barrier<> all_;
  stretto_thread_group group_ = nullptr;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return group_.size_; }
  bool are_threads() const noexcept override { return true; }
  double largest(double value) override {
    group_.values_[static_cast<std::size_t>(rank_)] = value;
    group_.all_.arrive_and_wait();
    const double most = *std::max_element(group_.values_.begin(), group_.values_.end());
    group_.all_.arrive_and_wait();
    return most;
  }
  stretto_status make(stretto_comm* comm) override { return stretto_comm_create_threads(group_.group_, rank_, comm); }

 private:
  ThreadGroup& group_;
  const int rank_;
};

}  // namespace stretto::bench
