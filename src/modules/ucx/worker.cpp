#include "modules/ucx/worker.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>
#include <string_view>

#include "modules/ucx/settings.hpp"

namespace stretto::modules {
namespace {

constexpr std::chrono::seconds kLongestClose{5};
constexpr std::chrono::milliseconds kLongestSilence{500};  // for peers that have not closed a connection
constexpr std::chrono::milliseconds kLongestDrain{200};
constexpr std::chrono::seconds kLongestUnsure{1};
constexpr std::chrono::milliseconds kFirstDoubt{5};  // before a connection's first marker may wait
constexpr unsigned kMarker = 0;                      // of active messages

ucs_status_t drop(void*, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) noexcept {
  return UCS_OK;
}

}  // namespace

Status UcxWorker::make(const std::string& transports, std::unique_ptr<UcxWorker>* worker) noexcept {
  const Ucp* ucp = nullptr;
  if (const Status s = find_ucp(&ucp); s != Status::ok) return s;
  std::unique_ptr<UcxWorker> made(new (std::nothrow) UcxWorker(*ucp));
  if (!made) return fail(Status::out_of_memory, std::string_view("no memory for a worker of UCX"));
  if (const Status s = read_connections(&made->told_); s != Status::ok) return s;
  if (const Status s = find_port(); s != Status::ok) return s;
  if (const Status s = made->init(transports); s != Status::ok) return s;
  *worker = std::move(made);
  return Status::ok;
}

Status UcxWorker::init(const std::string& transports) noexcept {
  const auto refused = [this](const char* what, ucs_status_t s) {
    return fail(Status::unsupported, "UCX {}: {} ({}{})", what, ucp_.status_string(s), ucp_.where, settings_of_ucx());
  };
  ucp_config_t* config = nullptr;
  if (const ucs_status_t s = ucp_.config_read(nullptr, nullptr, &config); s != UCS_OK)
    return refused("cannot read its settings", s);
  ucs_status_t s = transports.empty() ? UCS_OK : ucp_.config_modify(config, "TLS", transports.c_str());
  const char* what = "refuses the transports that were asked for";
  if (s == UCS_OK) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.name = "stretto";
    s = ucp_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
    wakes_ = s == UCS_OK;
    if (!wakes_) {
      params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM;
      s = ucp_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
    }
    what = "finds no transport that serves";
  }
  ucp_.config_release(config);
  if (s != UCS_OK) return refused(what, s);
  s = make_worker(0);
  return s == UCS_OK ? Status::ok : refused("makes no worker", s);
}

ucs_status_t UcxWorker::make_worker(unsigned connection) noexcept {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  const ucs_status_t s = ucp_.worker_create(context_, &params, &workers_[connection]);
  if (s != UCS_OK) workers_[connection] = nullptr;
  if (s == UCS_OK) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB;
    handler.id = kMarker;
    handler.cb = drop;
    static_cast<void>(ucp_.worker_set_am_recv_handler(workers_[connection], &handler));  // fails without memory alone
  }
  if (s == UCS_OK && wakes_) wakes_ = ucp_.worker_get_efd(workers_[connection], &descriptors_[connection]) == UCS_OK;
  return s;
}

// A failed attempt is not repeated: ports, descriptors or memory are scarce.
bool UcxWorker::has_worker(unsigned connection) noexcept {
  if (!workers_[connection] && !lacking_[connection])
    lacking_[connection] = find_port() != Status::ok || make_worker(connection) != UCS_OK;
  return !lacking_[connection];
}

unsigned UcxWorker::progress_senders() noexcept {
  unsigned done = 0;
  for (unsigned i = 1; i < connections_; ++i)
    if (workers_[i]) done += ucp_.worker_progress(workers_[i]);
  return done;
}

// Pending events prevent arming: progress runs instead, and the caller polls again.
void UcxWorker::sleep(double seconds) noexcept {
  constexpr unsigned most_busy = 64;
  std::array<pollfd, kMostConnections> all{};
  nfds_t n = 0;
  bool busy = false;
  for (unsigned i = 0; i < connections_ && wakes_; ++i) {
    if (!workers_[i]) continue;
    if (const ucs_status_t armed = ucp_.worker_arm(workers_[i]); armed != UCS_OK) {
      if (armed != UCS_ERR_BUSY) wakes_ = false;  // sleeps end by time from now on
      busy = true;
      ucp_.worker_progress(workers_[i]);
    }
    all[n++] = {descriptors_[i], POLLIN, 0};
  }
  busy_ = busy ? busy_ + 1 : 0;
  if (busy && busy_ % most_busy != 0) return;
  if (!wakes_ || busy) {
    sleep_for(std::min(seconds, kLongestSleep));
    return;
  }
  count_sleep();
  timespec t{};
  t.tv_sec = static_cast<time_t>(seconds);
  t.tv_nsec = static_cast<long>(1e9 * (seconds - static_cast<double>(t.tv_sec)));
  ppoll(all.data(), n, &t, nullptr);
}

// Null: it left at once.
ucs_status_ptr_t UcxWorker::send_marker(ucp_ep_h endpoint, bool at_once) noexcept {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;  // else UCX may query the device
  how.memory_type = UCS_MEMORY_TYPE_HOST;
  if (at_once) how.op_attr_mask |= UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  return ucp_.am_send_nbx(endpoint, kMarker, nullptr, 0, nullptr, 0, &how);
}

// A rank can send to itself once that connection is made, unless settings of UCX, its logs, or memory of devices (in
// UCX 1.13) forbid messages that leave at once.
bool UcxWorker::sends_at_once() noexcept {
  ucp_ep_h own = nullptr;
  return reach(rank_, &own) != Status::ok || UCS_PTR_STATUS(send_marker(own, true)) != UCS_ERR_NO_RESOURCE;
}

bool UcxWorker::has_left() noexcept {
  if (held_.empty()) return true;
  std::erase_if(held_, [&](Held& h) {
    Peer& p = peers_[static_cast<std::size_t>(h.rank)];
    ucp_ep_h endpoint = nullptr;
    if (h.request) {
      if (ucp_.request_check_status(h.request) == UCS_INPROGRESS) return false;
      ucp_.request_free(h.request);
      return true;
    }
    if (p.status == UCS_OK && reach(h.rank, &endpoint, h.connection) == Status::ok) {
      const bool at_once = at_once_ && !p.queues[h.connection];
      const ucs_status_ptr_t answer = send_marker(endpoint, at_once);
      if (UCS_PTR_IS_PTR(answer)) {
        h.request = answer;
        p.held[h.connection] = false;  // later bytes have a marker of their own
        return false;
      }
      if (UCS_PTR_STATUS(answer) == UCS_ERR_NO_RESOURCE) return false;
      p.sent_at_once[h.connection] |= !answer && at_once;
      p.has_sent |= !answer && h.connection == 0;
    }
    p.held[h.connection] = false;
    return true;
  });
  if (held_.empty()) {
    unsure_since_ = {};
    return true;
  }
  progress_senders();
  const Clock::time_point now = Clock::now();
  if (unsure_since_ == Clock::time_point()) {
    unsure_since_ = now;
    asks_itself_since_ = {};
    sent_to_itself_ = false;
  }
  if (now - unsure_since_ >= kFirstDoubt)
    for (const Held& h : held_) {
      Peer& p = peers_[static_cast<std::size_t>(h.rank)];
      p.queues[h.connection] |= !h.request && !p.sent_at_once[h.connection];
    }
  if (now - unsure_since_ < kLongestUnsure) return false;
  if (at_once_) {  // a full socket, or UCX sends nothing at once
    if (asks_itself_since_ == Clock::time_point()) asks_itself_since_ = now;
    sent_to_itself_ = sent_to_itself_ || sends_at_once();
    if (sent_to_itself_ || now - asks_itself_since_ < kLongestUnsure) return false;
    at_once_ = false;
    unsure_since_ = now;
    return false;
  }
  // Held bytes leave with the next call.
  forget_held();
  return true;
}

void UcxWorker::forget_held() noexcept {
  for (const Held& h : held_) {
    if (h.request) ucp_.request_free(h.request);
    peers_[static_cast<std::size_t>(h.rank)].held[h.connection] = false;
  }
  held_.clear();
  unsure_since_ = {};
}

UcxWorker::~UcxWorker() {
  forget_held();
  for (Peer& p : peers_) close(p);
  if (connections_ > 1) begin_spread();
  const auto end = Clock::now() + kLongestClose;
  auto answered = Clock::now();
  Waiting waiting(true);
  for (const ucs_status_ptr_t request : closing_) {
    bool waited = false;
    while (ucp_.request_check_status(request) == UCS_INPROGRESS &&
           Clock::now() < std::min(end, answered + kLongestSilence)) {
      waited = true;
      if (progress() == 0) waiting.rest();
    }
    if (waited && ucp_.request_check_status(request) != UCS_INPROGRESS) answered = Clock::now();
    ucp_.request_free(request);
  }
  if (handle()) drain();
  for (const ucp_worker_h worker : workers_)
    if (worker) ucp_.worker_destroy(worker);
  if (context_) ucp_.cleanup(context_);
}

void UcxWorker::close(Peer& peer) noexcept {
  for (ucp_ep_h& endpoint : peer.endpoints) {
    if (!endpoint) continue;
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    how.flags = peer.status == UCS_OK ? 0 : UCP_EP_CLOSE_FLAG_FORCE;
    const ucs_status_ptr_t request = ucp_.ep_close_nbx(endpoint, &how);
    if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
    endpoint = nullptr;
  }
}

// A broken connection ends the rank's other transfers.
void UcxWorker::close_lost() noexcept {
  closed_ = losses_;
  for (Peer& p : peers_)
    if (p.status != UCS_OK) close(p);
}

// Takes this session's short messages that failures left without a receive: UCX would complain of them.
void UcxWorker::drain() noexcept {
  const auto end = Clock::now() + kLongestDrain;
  ucp_tag_recv_info_t info{};
  std::array<std::byte, 4096> room;  // longer messages must be fetched
  while (Clock::now() < end) {
    if (!ucp_.tag_probe_nb(handle(), secret_, kMaskSecret, 0, &info) || info.length > room.size()) return;
    const ucp_tag_message_h message = ucp_.tag_probe_nb(handle(), info.sender_tag, ~std::uint64_t{0}, 1, &info);
    if (!message) return;
    ucp_request_param_t how{};
    const ucs_status_ptr_t request = ucp_.tag_msg_recv_nbx(handle(), room.data(), room.size(), message, &how);
    if (!UCS_PTR_IS_PTR(request)) continue;
    const bool in_progress = ucp_.request_check_status(request) == UCS_INPROGRESS;
    ucp_.request_free(request);
    if (in_progress) return;
  }
}

bool UcxWorker::takes_device_memory() const noexcept {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  return ucp_.context_query(context_, &attributes) == UCS_OK &&
         (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
}

Status UcxWorker::address(std::string* address) {
  ucp_address_t* found = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t s = ucp_.worker_get_address(handle(), &found, &bytes);
  if (s != UCS_OK) return fail(Status::unsupported, "UCX has no address: {}", ucp_.status_string(s));
  address->assign(reinterpret_cast<const char*>(found), bytes);
  ucp_.worker_release_address(handle(), found);
  return Status::ok;
}

void UcxWorker::join(const carrier::Session& session, int rank) {
  peers_.resize(session.members.size());
  const std::string& here = session.members[static_cast<std::size_t>(rank)].host;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    peers_[r].worker = this;
    peers_[r].member = session.members[r];
    peers_[r].connections = session.members[r].host == here ? told_.inside : told_.between;
    connections_ = std::max(connections_, peers_[r].connections);
  }
  closing_.reserve(peers_.size() * connections_);
  held_.reserve(2 * peers_.size() * connections_);  // a marker that waits, and one for later bytes
  rank_ = rank;
  std::memcpy(&secret_, session.secret.data(), sizeof secret_);
  secret_ &= kMaskSecret;
}

Status UcxWorker::reach(int rank, ucp_ep_h* endpoint, unsigned connection) noexcept {
  Peer& p = peers_[static_cast<std::size_t>(rank)];
  if (p.status != UCS_OK) return failed(rank, p.status);
  if (!has_worker(connection)) connection = 0;  // for good: messages of one tag stay in order
  ucp_ep_h& own = p.endpoints[connection];
  if (!own) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(p.member.address.data());
    if (rank != rank_) {  // own rank: cannot die before itself
      params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
      params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
      params.err_handler = {on_error, &p};
    }
    if (const ucs_status_t s = ucp_.ep_create(workers_[connection], &params, &own); s != UCS_OK) {
      own = nullptr;
      p.status = s;
      ++losses_;
      return failed(rank, s);
    }
  }
  *endpoint = own;
  return Status::ok;
}

Status UcxWorker::failed(int rank, ucs_status_t status) const noexcept {
  const carrier::Member& m = peers_[static_cast<std::size_t>(rank)].member;
  if (status == UCS_ERR_UNREACHABLE)
    return fail(Status::unsupported, "UCX has no transport to rank {} (process {} on {}) that would notice its end{}",
                rank, m.pid, m.host, settings_of_ucx());
  return fail(Status::mpi_error, "rank {} (process {} on {}) has ended or cannot be reached: {}", rank, m.pid, m.host,
              ucp_.status_string(status));
}

void UcxWorker::on_error(void* peer, ucp_ep_h, ucs_status_t status) noexcept {
  Peer& p = *static_cast<Peer*>(peer);
  if (p.status == UCS_OK) ++p.worker->losses_;
  p.status = status;
}

}  // namespace stretto::modules
