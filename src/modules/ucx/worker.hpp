// Endpoints connect on first use.
//
// One worker has all receives and the first connection to each peer. Each further connection has a worker that only
// sends: UCX (1.13 to 1.22) prints errors if ranks open several connections between two workers at once.
//
// Tags hold, from the top: 26 bits of the session's secret, 3 of the channel, 14 of the sender's rank, 1 for a message
// that is cut, 20 of the message. A receive names all others, so a stranger that knows only the port matches no
// receive.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/waiting.hpp"
#include "carrier/rendezvous.hpp"
#include "modules/ucx/library.hpp"
#include "modules/ucx/pieces.hpp"
#include "modules/ucx/settings.hpp"

namespace stretto::modules {

inline constexpr std::uint64_t kTagBits = 20, kCutBits = 1, kRankBits = 14, kChannelBits = 3, kPieceBits = 3;
inline constexpr int kMostRanks = 1 << kRankBits;
inline constexpr unsigned kChannelOfPieces = 7;
static_assert(kMostConnections <= 1u << kPieceBits);

class UcxWorker {
 public:
  // `transports` as UCX_TLS; empty: UCX chooses.
  static Status make(const std::string& transports, std::unique_ptr<UcxWorker>* worker) noexcept;
  // Waits some seconds for sent messages to leave.
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  bool takes_device_memory() const noexcept;

  Status address(std::string* address);
  // Once the ranks have met.
  void join(const carrier::Session& session, int rank);

  // The first connection's if another cannot be made. mpi_error: unreachable.
  Status reach(int rank, ucp_ep_h* endpoint, unsigned connection = 0) noexcept;
  // UCS_OK: reachable.
  ucs_status_t lost(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].status; }
  unsigned losses() const noexcept { return losses_; }
  Status failed(int rank, ucs_status_t status) const noexcept;

  std::uint64_t tag(unsigned channel, int sender, std::uint64_t message) const noexcept {
    return secret_ | std::uint64_t{channel} << (kRankShift + kRankBits) | std::uint64_t(sender) << kRankShift | message;
  }
  std::uint64_t tag_of_piece(int sender, std::uint32_t number, unsigned piece) const noexcept {
    return tag(kChannelOfPieces, sender, (std::uint64_t{number} << kPieceBits & kMaskMessage) | piece);
  }
  // Shares a channel with pieces, which lack the cut bit.
  std::uint64_t tag_between_devices(int sender, std::uint64_t message) const noexcept {
    return tag(kChannelOfPieces, sender, message & kMaskMessage) | kMaskCut;
  }
  // UCX acknowledges no shorter ones, but by UCX_RNDV_THRESH.
  static constexpr std::size_t kLeastAcknowledged = 1024;
  static constexpr unsigned kRankShift = kTagBits + kCutBits;
  static constexpr std::uint64_t kMaskMessage = (std::uint64_t{1} << kTagBits) - 1;
  static constexpr std::uint64_t kMaskCut = std::uint64_t{1} << kTagBits;
  static constexpr std::uint64_t kMaskSender = ((std::uint64_t{1} << kRankBits) - 1) << kRankShift;
  static constexpr std::uint64_t kMaskSecret = ~((std::uint64_t{1} << (kRankShift + kRankBits + kChannelBits)) - 1);

  unsigned connections() const noexcept { return connections_; }
  unsigned connections_to(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].connections; }
  // Sends then use further connections. These progress whenever nothing else does, else seldom: UCX may hold bytes of
  // an ended send, and a poll costs a system call.
  void begin_spread() noexcept { ++spread_; }
  void end_spread() noexcept { --spread_; }
  // UCX reports sends as ended while it holds bytes of them (a full socket), and receives while it holds their
  // acknowledgement: these leave by later progress alone.
  void mark_sent(int rank, unsigned connection) noexcept {
    if (rank == rank_) return;
    Peer& p = peers_[static_cast<std::size_t>(rank)];
    if (!p.held[connection]) held_.push_back({rank, connection, nullptr});
    p.held[connection] = true;
  }
  // Only over a connection that has sent: another holds nothing back, but may wait for its peer to answer.
  void mark_received(int rank, std::size_t bytes) noexcept {
    if (bytes >= kLeastAcknowledged && peers_[static_cast<std::size_t>(rank)].has_sent) mark_sent(rank, 0);
  }
  // True once all held bytes have left, or cannot leave: an empty active message could be sent behind them at once. A
  // flush of UCX, or a message that may wait, may ask the peer for an answer, and the peer may have ended its call. So
  // only a connection over which UCX sends none at once, as one that copies nothing, has a message that may wait.
  bool has_left() noexcept;
  std::uint32_t next_number() noexcept { return number_++; }

  const Ucp& ucp() const noexcept { return ucp_; }
  ucp_worker_h handle() const noexcept { return workers_.front(); }
  unsigned progress() noexcept {
    unsigned done = ucp_.worker_progress(handle());
    if ((spread_ > 0 && done == 0) || ++turn_ % kSeldom == 0) done += progress_senders();
    if (losses_ != closed_) close_lost();
    return done;
  }
  // After a poll without progress, until a message arrives, at most so many seconds.
  void sleep(double seconds) noexcept;
  // For messages of ranks that may share cores.
  Waiting waiting() const noexcept { return wakes_ ? Waiting(true, Wakes::by_messages, 0.05) : Waiting(true); }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(peers_.size()); }

 private:
  struct Peer {
    UcxWorker* worker = nullptr;
    carrier::Member member;
    unsigned connections = 1;
    std::array<ucp_ep_h, kMostConnections> endpoints{};
    std::array<bool, kMostConnections> held{};
    std::array<bool, kMostConnections> sent_at_once{};
    std::array<bool, kMostConnections> queues{};  // a marker may wait: none was ever sent at once
    bool has_sent = false;                        // over the first connection
    ucs_status_t status = UCS_OK;
  };
  using Clock = std::chrono::steady_clock;
  explicit UcxWorker(const Ucp& ucp) noexcept : ucp_(ucp) {}
  ucs_status_ptr_t send_marker(ucp_ep_h endpoint, bool at_once) noexcept;
  bool sends_at_once() noexcept;
  void forget_held() noexcept;
  Status init(const std::string& transports) noexcept;
  ucs_status_t make_worker(unsigned connection) noexcept;
  bool has_worker(unsigned connection) noexcept;
  unsigned progress_senders() noexcept;
  void close(Peer& peer) noexcept;
  void close_lost() noexcept;
  void drain() noexcept;
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status) noexcept;

  const Ucp& ucp_;
  ucp_context_h context_ = nullptr;
  bool wakes_ = false;
  unsigned busy_ = 0;  // successive sleeps that found events
  std::array<int, kMostConnections> descriptors_{};
  std::array<ucp_worker_h, kMostConnections> workers_{};  // by connection, on first use
  std::array<bool, kMostConnections> lacking_{};
  std::size_t spread_ = 0;
  unsigned turn_ = 0;
  static constexpr unsigned kSeldom = 16;
  int rank_ = 0;
  std::uint64_t secret_ = 0;
  std::vector<Peer> peers_;
  unsigned losses_ = 0, closed_ = 0;
  struct Held {
    int rank;
    unsigned connection;
    ucs_status_ptr_t request;
  };
  std::vector<Held> held_;
  Clock::time_point unsure_since_;       // held bytes did not leave at once; zero: they did
  Clock::time_point asks_itself_since_;  // zero: not since then
  bool sent_to_itself_ = false;          // since then
  bool at_once_ = true;                  // false: UCX sends nothing at once here, over no connection
  std::vector<ucs_status_ptr_t> closing_;
  Connections told_;
  unsigned connections_ = 1;
  std::uint32_t number_ = 0;
};

}  // namespace stretto::modules
