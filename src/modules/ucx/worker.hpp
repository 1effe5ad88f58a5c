// UCX as one rank of a communicator uses it: a worker, and an endpoint to each peer, connected when it is first needed.
//
// Tags hold, from the top: 28 bits of the session's secret, 2 of the channel, 14 of the sender's rank, 20 of the
// message. A receive names all of them. So what a stranger sends, who knows the port but not the store, meets no
// receive, and none of its bytes is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "carrier/rendezvous.hpp"
#include "modules/ucx/library.hpp"

namespace stretto::modules {

inline constexpr std::uint64_t tag_bits = 20, rank_bits = 14, channel_bits = 2;
inline constexpr int most_ranks = 1 << rank_bits;

class UcxWorker {
 public:
  // `transports` as UCX_TLS; empty: UCX chooses.
  static Status make(const std::string& transports, std::unique_ptr<UcxWorker>* worker) noexcept;
  // Waits some seconds for what was sent to leave.
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  // Where others reach it. Throws std::bad_alloc.
  Status address(std::string* address);
  // After the ranks have met: who they are, and which one this is. Throws std::bad_alloc.
  void join(const carrier::Session& session, int rank);

  // The endpoint to a rank. mpi_error: it cannot be reached any more.
  Status reach(int rank, ucp_ep_h* endpoint) noexcept;
  // What is known of a rank that cannot be reached any more; UCS_OK: nothing.
  ucs_status_t lost(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].status; }
  // How many have been lost so far.
  unsigned losses() const noexcept { return losses_; }
  // The status for a transfer with `rank` that UCX ended so; with a message that names the rank.
  Status failed(int rank, ucs_status_t status) const noexcept;

  std::uint64_t tag(unsigned channel, int sender, std::uint64_t message) const noexcept {
    return secret_ | std::uint64_t{channel} << (tag_bits + rank_bits) | std::uint64_t(sender) << tag_bits | message;
  }
  static constexpr std::uint64_t mask_secret = ~((std::uint64_t{1} << (tag_bits + rank_bits + channel_bits)) - 1);
  static constexpr std::uint64_t mask_message = (std::uint64_t{1} << tag_bits) - 1;
  static constexpr std::uint64_t mask_sender = ((std::uint64_t{1} << rank_bits) - 1) << tag_bits;

  const Ucp& ucp() const noexcept { return ucp_; }
  ucp_worker_h handle() const noexcept { return worker_; }
  unsigned progress() noexcept { return ucp_.worker_progress(worker_); }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(peers_.size()); }

 private:
  struct Peer {
    UcxWorker* worker = nullptr;
    carrier::Member member;
    ucp_ep_h endpoint = nullptr;
    ucs_status_t status = UCS_OK;
  };
  explicit UcxWorker(const Ucp& ucp) noexcept : ucp_(ucp) {}
  Status init(const std::string& transports) noexcept;
  void drain() noexcept;
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status) noexcept;

  const Ucp& ucp_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int rank_ = 0;
  std::uint64_t secret_ = 0;
  std::vector<Peer> peers_;
  unsigned losses_ = 0;
};

}  // namespace stretto::modules
