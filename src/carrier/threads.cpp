#include "carrier/threads.hpp"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

namespace stretto::carrier {
namespace {

// Far longer than any copy takes.
constexpr std::chrono::seconds copy_limit(10);

// One side of a message that waits for the other.
struct Half {
  std::uint64_t tag = 0;
  std::uint64_t id = 0;
  const void* source = nullptr;  // of a send
  void* target = nullptr;        // of a receive
  std::size_t bytes = 0;         // length of a send, capacity of a receive
};

// What waits at rank r for messages from one peer. At most one of the queues holds a given tag.
struct Channel {
  std::deque<Half> sends;
  std::deque<Half> receives;
};

bool take(std::deque<Half>& queue, std::uint64_t tag, Half* found) {
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    if (it->tag != tag) continue;
    *found = *it;
    queue.erase(it);
    return true;
  }
  return false;
}

template <class T>
bool drop(std::deque<T>& queue, std::uint64_t id) {
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    if (it->id != id) continue;
    queue.erase(it);
    return true;
  }
  return false;
}

// Everything a rank's peers touch. Nobody holds two of these locks at once, and no copy is made under one.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<Channel> from;  // by peer: messages to this rank
  std::deque<Completion> done;
};

}  // namespace

class ThreadGroup {
 public:
  explicit ThreadGroup(int ranks) : boxes_(static_cast<std::size_t>(ranks)) {
    for (auto& box : boxes_) box.from.resize(boxes_.size());
  }
  int size() const noexcept { return static_cast<int>(boxes_.size()); }
  Mailbox& box(int rank) noexcept { return boxes_[static_cast<std::size_t>(rank)]; }

  void complete(int rank, const Completion& completion) {
    Mailbox& mine = box(rank);
    {
      std::lock_guard lock(mine.mutex);
      mine.done.push_back(completion);
    }
    mine.arrived.notify_one();
  }

 private:
  std::vector<Mailbox> boxes_;
};

namespace {

class ThreadCarrier final : public Carrier {
 public:
  ThreadCarrier(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  const char* name() const noexcept override { return "threads"; }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return group_->size(); }
  std::uint64_t tags() const noexcept override { return std::uint64_t{1} << 62; }

  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    if (peer < 0 || peer >= size()) return fail(Status::invalid_argument, "send to rank {} of {}", peer, size());
    const Half send{tag, id, data, nullptr, bytes};
    Half receive;
    try {
      Mailbox& box = group_->box(peer);
      {
        std::lock_guard lock(box.mutex);
        Channel& channel = box.from[static_cast<std::size_t>(rank_)];
        if (!take(channel.receives, tag, &receive)) {
          channel.sends.push_back(send);
          return Status::ok;
        }
      }
      finish(send, rank_, receive, peer);
    } catch (const std::bad_alloc&) {
      return fail(Status::out_of_memory, "no memory to queue a message");
    }
    return Status::ok;
  }

  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    if (peer < 0 || peer >= size()) return fail(Status::invalid_argument, "receive from rank {} of {}", peer, size());
    const Half receive{tag, id, nullptr, data, capacity};
    Half send;
    try {
      Mailbox& box = group_->box(rank_);
      {
        std::lock_guard lock(box.mutex);
        Channel& channel = box.from[static_cast<std::size_t>(peer)];
        if (!take(channel.sends, tag, &send)) {
          channel.receives.push_back(receive);
          return Status::ok;
        }
      }
      finish(send, peer, receive, rank_);
    } catch (const std::bad_alloc&) {
      return fail(Status::out_of_memory, "no memory to queue a message");
    }
    return Status::ok;
  }

  Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept override {
    Mailbox& box = group_->box(rank_);
    std::unique_lock lock(box.mutex);
    if (box.done.empty() && seconds > 0) {
      box.arrived.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !box.done.empty(); });
    }
    *n = 0;
    while (*n < done.size() && !box.done.empty()) {
      done[(*n)++] = box.done.front();
      box.done.pop_front();
    }
    return Status::ok;
  }

  bool cancel(std::uint64_t id) noexcept override {
    for (int r = 0; r < size(); ++r) {
      Mailbox& box = group_->box(r);
      std::lock_guard lock(box.mutex);
      if (drop(box.from[static_cast<std::size_t>(rank_)].sends, id)) return true;
      if (r != rank_) continue;
      for (auto& channel : box.from) {
        if (drop(channel.receives, id)) return true;
      }
    }
    // It has met its other half, who is copying or has copied: the completion is about to come.
    Mailbox& box = group_->box(rank_);
    std::unique_lock lock(box.mutex);
    const auto reported = [&] { return drop(box.done, id); };
    return box.arrived.wait_for(lock, copy_limit, reported);
  }

 private:
  void finish(const Half& send, int sender, const Half& receive, int receiver) {
    const bool fits = send.bytes <= receive.bytes;
    if (fits && send.bytes > 0) std::memcpy(receive.target, send.source, send.bytes);
    const Status status = fits ? Status::ok : Status::incompatible;
    group_->complete(sender, {send.id, send.bytes, Status::ok});
    group_->complete(receiver, {receive.id, send.bytes, status});
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
};

}  // namespace

std::shared_ptr<ThreadGroup> make_thread_group(int ranks) {
  return std::make_shared<ThreadGroup>(ranks < 1 ? 1 : ranks);
}

std::unique_ptr<Carrier> make_thread_carrier(std::shared_ptr<ThreadGroup> group, int rank) {
  return std::make_unique<ThreadCarrier>(std::move(group), rank);
}

}  // namespace stretto::carrier
