#include <array>
#include <chrono>
#include <thread>

#include <fmt/core.h>

#include "api/communicator.hpp"
#include "costs/collectives.hpp"
#include "costs/sampling.hpp"
#include "stretto/stretto_store.h"
#include "world.hpp"

namespace stretto::measure {
namespace {

constexpr double kLimit = 300, kLongest = 3600;  // seconds for a message, and for one awaited asleep

stretto_comm make_comm() {
  stretto_comm comm = nullptr;
  must(stretto_comm_create_environment(nullptr, &comm));
  return comm;
}

class UcxWorld final : public World {
 public:
  UcxWorld() : World(make_comm()) { must(comm()->transport->make_carrier(&messages_)); }

  model::Carrier carrier() const noexcept override { return model::Carrier::ucx; }

  void send(int peer, int tag, const void* data, std::size_t bytes) const override {
    must(messages_->start_send(peer, static_cast<std::uint64_t>(tag), data, bytes, kSend));
    finish(1, peer, false);
  }
  void receive(int peer, int tag, void* data, std::size_t bytes) const override {
    must(messages_->start_recv(peer, static_cast<std::uint64_t>(tag), data, bytes, kReceive));
    finish(1, peer, false);
  }
  void shift(int to, const void* out, int from, void* in, std::size_t bytes, int tag) const override {
    must(messages_->start_recv(from, static_cast<std::uint64_t>(tag), in, bytes, kReceive));
    must(messages_->start_send(to, static_cast<std::uint64_t>(tag), out, bytes, kSend));
    finish(2, from, false);
  }
  void await(int peer, int tag, bool asleep) const override {
    must(messages_->start_recv(peer, static_cast<std::uint64_t>(tag), nullptr, 0, kReceive));
    finish(1, peer, asleep);
  }

  std::unique_ptr<Provider> natives() const override { return nullptr; }

 private:
  enum Id : std::uint64_t { kSend, kReceive };

  // Waits until `left` transfers have ended.
  void finish(std::size_t left, int peer, bool asleep) const {
    const double limit = asleep ? kLongest : kLimit, end = asleep ? now() + limit : 0;
    while (left > 0) {
      std::array<carrier::Completion, 2> done;
      std::size_t n = 0;
      must(messages_->wait_any(done, &n, asleep ? 0 : limit));
      for (std::size_t i = 0; i < n; ++i) must(done[i].status);
      left -= n;
      if (n > 0) continue;
      if (!asleep || now() > end)
        throw std::runtime_error(fmt::format("rank {} did not come within {} s", peer, limit));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::unique_ptr<carrier::Carrier> messages_;
};

}  // namespace

std::unique_ptr<World> make_ucx_world() { return std::make_unique<UcxWorld>(); }

}  // namespace stretto::measure
