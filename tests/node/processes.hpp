// Ranks as processes of their own, without MPI: forked children that meet over memory which they inherit.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "node/group/exchange.hpp"

namespace stretto::node {

// Memory shared by parent and children, made before the fork.
class Inherited {
 public:
  static constexpr std::size_t kBlock = 4096;  // longest contribution to an exchange
  explicit Inherited(int ranks)
      : bytes_(4096 + static_cast<std::size_t>(ranks) * kBlock),
        at_(static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
  }
  ~Inherited() { munmap(at_, bytes_); }
  std::atomic<int>& arrived() { return *reinterpret_cast<std::atomic<int>*>(at_); }
  std::atomic<int>& count() { return *reinterpret_cast<std::atomic<int>*>(at_ + 64); }  // for the test's own use
  std::byte* block(int rank) { return at_ + 4096 + static_cast<std::size_t>(rank) * kBlock; }

 private:
  std::size_t bytes_;
  std::byte* at_;
};

class InheritedExchange final : public Exchange {
 public:
  InheritedExchange(Inherited& memory, int rank, int size) : memory_(memory), rank_(rank), size_(size) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  using Exchange::allgather;
  Status allgather(const void* mine, std::size_t bytes, void* all) noexcept override {
    if (bytes > Inherited::kBlock) return fail(Status::invalid_argument, "a block of {} bytes", bytes);
    std::memcpy(memory_.block(rank_), mine, bytes);
    meet();
    for (int r = 0; r < size_; ++r)
      std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * bytes, memory_.block(r), bytes);
    meet();
    return Status::ok;
  }

 private:
  void meet() {
    target_ += size_;
    memory_.arrived().fetch_add(1);
    while (memory_.arrived().load() < target_) sched_yield();
  }
  Inherited& memory_;
  int rank_, size_;
  int target_ = 0;
};

// Forks a child per rank; its exit status is the result of body(exchange). `meanwhile(pids)` runs in the parent.
// Returns the exit statuses.
template <class Body, class Meanwhile>
std::vector<int> on_processes(int ranks, Inherited& memory, const Body& body, const Meanwhile& meanwhile) {
  std::vector<pid_t> children;
  for (int r = 0; r < ranks; ++r) {
    const pid_t child = fork();
    if (child == 0) {
      InheritedExchange exchange(memory, r, ranks);
      _exit(body(static_cast<Exchange&>(exchange)));
    }
    children.push_back(child);
  }
  meanwhile(children);
  std::vector<int> ends;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ends.push_back(status);
  }
  return ends;
}

}  // namespace stretto::node
