// A carrier around another one, for tests that change some of what passes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "carrier/carrier.hpp"

namespace stretto::tests {

class Forwarding : public carrier::Carrier {
 public:
  explicit Forwarding(std::unique_ptr<carrier::Carrier> inner) : inner_(std::move(inner)) {}
  const char* name() const noexcept override { return inner_->name(); }
  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::uint64_t tags() const noexcept override { return inner_->tags(); }
  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    return inner_->start_send(peer, tag, data, bytes, id);
  }
  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    return inner_->start_recv(peer, tag, data, capacity, id);
  }
  Status wait_any(std::span<carrier::Completion> done, std::size_t* n, double seconds) noexcept override {
    return inner_->wait_any(done, n, seconds);
  }
  bool cancel(std::uint64_t id) noexcept override { return inner_->cancel(id); }
  bool peek(int peer, carrier::Arrival* found) noexcept override { return inner_->peek(peer, found); }
  void raise(const carrier::Alarm& alarm) noexcept override { inner_->raise(alarm); }
  bool hear(carrier::Alarm* alarm) noexcept override { return inner_->hear(alarm); }

 private:
  std::unique_ptr<carrier::Carrier> inner_;
};

// Begins no transfer that `refuses` says so of, and says that there are so many tags.
class Refusing final : public Forwarding {
 public:
  template <class Refuses>
  Refusing(std::unique_ptr<carrier::Carrier> inner, Refuses refuses, std::uint64_t tags = 0)
      : Forwarding(std::move(inner)), refuses_(std::move(refuses)), tags_(tags) {}
  std::uint64_t tags() const noexcept override { return tags_ > 0 ? tags_ : Forwarding::tags(); }
  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    return refuses_() ? refuse() : Forwarding::start_send(peer, tag, data, bytes, id);
  }
  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    return refuses_() ? refuse() : Forwarding::start_recv(peer, tag, data, capacity, id);
  }

 private:
  static Status refuse() noexcept { return fail(Status::out_of_memory, "no memory to list a message"); }
  std::function<bool()> refuses_;
  std::uint64_t tags_;
};

}  // namespace stretto::tests
