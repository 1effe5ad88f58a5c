// Probes latency and rate of the network while a communicator is made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "model/profile/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// Times of messages between hosts. `byte` is 0 if nothing was measured.
struct NetworkSpeed {
  double latency = 0;     // seconds
  double byte = 0;        // seconds
  double short_byte = 0;  // seconds, in messages of a few KiB, which a shaped port may pass in its burst
  // Core time at either end, for a message and for each of its bytes: the kernel's work, and interrupts.
  double core_message = 0, core_byte = 0;  // seconds

  bool known() const noexcept { return byte > 0; }
  bool has_bursts() const noexcept { return 2 * short_byte < byte; }
};

NetworkSpeed known_speed(model::Carrier carrier) noexcept;

// The first rank of each host sends to that of the next host, while it receives from that of the previous host. *speed,
// equal on all ranks, is the slowest host's, with the mean core times. Collective; all ranks get the same status.
// timeout: a message took longer than a minute. After a failure `messages` has no further use. Precondition: several
// hosts.
Status probe_network(backend::Transport& transport, const topology::Topology& topology, model::Carrier over,
                     carrier::Carrier& messages, NetworkSpeed* speed) noexcept;

// The fastest of a host's messages of a few bytes, of `some` and of `many`: others wait behind the other direction or
// for a core. After a pause a message may pass a shaped link too fast, so the slowest host's speed is the network's.
class MessageTimes {
 public:
  void take(std::span<const double> brief, std::span<const double> medium, std::span<const double> whole) noexcept {
    for (const double t : brief) brief_ = std::min(brief_, t);
    for (const double t : medium) medium_ = std::min(medium_, t);
    for (const double t : whole) {
      second_ = std::min(second_, std::max(least_, t));
      least_ = std::min(least_, t);
    }
  }

  // Two long messages took nearly equally long: neither was disturbed.
  bool settled() const noexcept { return second_ <= 1.25 * least_; }

  // Precondition: a round was taken.
  NetworkSpeed speed(std::size_t some, std::size_t many) const noexcept {
    const auto byte = [this](double took, std::size_t bytes) {
      return std::max(took - brief_, 1e-9) / static_cast<double>(bytes);
    };
    return {brief_, byte(least_, many), byte(medium_, some)};
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  double brief_ = kNever, medium_ = kNever, least_ = kNever, second_ = kNever;
};

// Core times of a message and of its bytes, from pairs of messages, one sent and one received. The least of each
// counts. Precondition: neither is empty.
inline void set_core_times(std::span<const double> brief, std::span<const double> whole, std::size_t bytes,
                           NetworkSpeed* speed) noexcept {
  const double short_pair = std::max(*std::min_element(brief.begin(), brief.end()), 0.0);
  const double long_pair = *std::min_element(whole.begin(), whole.end());
  speed->core_message = short_pair / 2;
  speed->core_byte = std::max(long_pair - short_pair, 0.0) / 2 / static_cast<double>(bytes);
}

// The slower of two speeds; unknown if either is.
NetworkSpeed slower(NetworkSpeed one, NetworkSpeed other) noexcept;

}  // namespace stretto::api
