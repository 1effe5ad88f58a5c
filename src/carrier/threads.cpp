#include "carrier/threads.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "base/guarded.hpp"

namespace stretto::carrier {
namespace {

constexpr std::chrono::seconds kCopyLimit(10);

struct MessageSide {
  std::uint64_t tag = 0;
  std::uint64_t id = 0;
  const void* source = nullptr;
  void* target = nullptr;
  std::size_t bytes = 0;
};

// Waiting at rank r for one peer. At most one queue holds a tag.
struct Channel {
  std::deque<MessageSide> sends;
  std::deque<MessageSide> receives;
};

bool take(std::deque<MessageSide>& queue, std::uint64_t tag, MessageSide* found) {
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    if (it->tag != tag) continue;
    *found = *it;
    queue.erase(it);
    return true;
  }
  return false;
}

template <class T>
bool drop(T& queue, std::uint64_t id) {
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    if (it->id != id) continue;
    queue.erase(it);
    return true;
  }
  return false;
}

// No thread holds two of these locks, or copies under one.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<Channel> from;
  std::size_t open = 0;
  std::vector<Completion> done;
};

// Begins every transfer; --open ends it.
void make_room(Mailbox& box) {
  std::lock_guard lock(box.mutex);
  if (box.open == box.done.capacity()) box.done.reserve(2 * box.open + 16);
  ++box.open;
}

void give_room_back(Mailbox& box) noexcept {
  std::lock_guard lock(box.mutex);
  --box.open;
}

}  // namespace

class ThreadGroup {
 public:
  explicit ThreadGroup(int ranks) : boxes_(static_cast<std::size_t>(ranks)), alarms_(kMostAlarms * boxes_.size()) {
    for (auto& box : boxes_) box.from.resize(boxes_.size());
  }
  int size() const noexcept { return static_cast<int>(boxes_.size()); }
  Mailbox& box(int rank) noexcept { return boxes_[static_cast<std::size_t>(rank)]; }

  void raise(const Alarm& alarm) noexcept {
    std::lock_guard lock(alarm_mutex_);
    alarms_[raised_++] = alarm;
  }

  bool hear(std::size_t n, Alarm* alarm) noexcept {
    std::lock_guard lock(alarm_mutex_);
    if (n >= raised_) return false;
    *alarm = alarms_[n];
    return true;
  }

  void complete(int rank, const Completion& completion) noexcept {
    Mailbox& mine = box(rank);
    {
      std::lock_guard lock(mine.mutex);
      mine.done.push_back(completion);
    }
    mine.arrived.notify_one();
  }

 private:
  std::vector<Mailbox> boxes_;
  std::mutex alarm_mutex_;
  std::vector<Alarm> alarms_;
  std::size_t raised_ = 0;
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
    const MessageSide send{tag, id, data, nullptr, bytes};
    MessageSide receive;
    bool met = false;
    if (const Status s = begin([&] { met = meet(send, peer, rank_, &Channel::receives, &Channel::sends, &receive); });
        s != Status::ok)
      return s;
    if (met) finish(send, rank_, receive, peer);
    return Status::ok;
  }

  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    if (peer < 0 || peer >= size()) return fail(Status::invalid_argument, "receive from rank {} of {}", peer, size());
    const MessageSide receive{tag, id, nullptr, data, capacity};
    MessageSide send;
    bool met = false;
    if (const Status s = begin([&] { met = meet(receive, rank_, peer, &Channel::sends, &Channel::receives, &send); });
        s != Status::ok)
      return s;
    if (met) finish(send, peer, receive, rank_);
    return Status::ok;
  }

  Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept override {
    Mailbox& box = group_->box(rank_);
    std::unique_lock lock(box.mutex);
    if (box.done.empty() && seconds > 0) {
      box.arrived.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !box.done.empty(); });
    }
    *n = std::min(done.size(), box.done.size());
    std::copy_n(box.done.begin(), *n, done.begin());
    box.done.erase(box.done.begin(), box.done.begin() + static_cast<std::ptrdiff_t>(*n));
    box.open -= *n;
    return Status::ok;
  }

  bool cancel(std::uint64_t id) noexcept override {
    if (!withdraw(id)) return false;
    give_room_back(group_->box(rank_));
    return true;
  }

  bool peek(int peer, Arrival* found) noexcept override {
    Mailbox& box = group_->box(rank_);
    std::lock_guard lock(box.mutex);
    const auto& sends = box.from[static_cast<std::size_t>(peer)].sends;
    if (sends.empty()) return false;
    *found = {peer, sends.front().tag, sends.front().bytes};
    return true;
  }

  void raise(const Alarm& alarm) noexcept override {
    if (raised_++ < kMostAlarms) group_->raise(alarm);
  }

  bool hear(Alarm* alarm) noexcept override {
    while (group_->hear(heard_, alarm)) {
      ++heard_;
      if (alarm->rank != rank_) return true;
    }
    return false;
  }

 private:
  // Allocates before any change of state.
  template <class Queue>
  Status begin(const Queue& queue) noexcept {
    Mailbox& mine = group_->box(rank_);
    bool room = false;
    const Status s = guarded("to queue a message", [&] {
      make_room(mine);
      room = true;
      queue();
    });
    if (s != Status::ok && room) give_room_back(mine);
    return s;
  }

  // True: `side` has found its other side.
  bool meet(const MessageSide& side, int to, int from, std::deque<MessageSide> Channel::*others,
            std::deque<MessageSide> Channel::*own, MessageSide* other) {
    Mailbox& box = group_->box(to);
    std::lock_guard lock(box.mutex);
    Channel& channel = box.from[static_cast<std::size_t>(from)];
    if (take(channel.*others, side.tag, other)) return true;
    (channel.*own).push_back(side);
    return false;
  }

  bool withdraw(std::uint64_t id) noexcept {
    for (int r = 0; r < size(); ++r) {
      Mailbox& box = group_->box(r);
      std::lock_guard lock(box.mutex);
      if (drop(box.from[static_cast<std::size_t>(rank_)].sends, id)) return true;
      if (r != rank_) continue;
      for (auto& channel : box.from) {
        if (drop(channel.receives, id)) return true;
      }
    }
    // The other half is copying: the completion comes soon.
    Mailbox& box = group_->box(rank_);
    std::unique_lock lock(box.mutex);
    const auto reported = [&] { return drop(box.done, id); };
    return box.arrived.wait_for(lock, kCopyLimit, reported);
  }

  void finish(const MessageSide& send, int sender, const MessageSide& receive, int receiver) noexcept {
    const bool fits = send.bytes <= receive.bytes;
    if (fits && send.bytes > 0) std::memcpy(receive.target, send.source, send.bytes);
    const Status status = fits ? Status::ok : Status::incompatible;
    group_->complete(sender, {send.id, send.bytes, Status::ok});
    group_->complete(receiver, {receive.id, send.bytes, status});
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  std::size_t raised_ = 0, heard_ = 0;
};

}  // namespace

std::shared_ptr<ThreadGroup> make_thread_group(int ranks) {
  return std::make_shared<ThreadGroup>(ranks < 1 ? 1 : ranks);
}

std::unique_ptr<Carrier> make_thread_carrier(std::shared_ptr<ThreadGroup> group, int rank) {
  return std::make_unique<ThreadCarrier>(std::move(group), rank);
}

}  // namespace stretto::carrier
