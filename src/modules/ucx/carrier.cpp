#include "modules/ucx/carrier.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "base/guarded.hpp"
#include "carrier/limited_wait.hpp"

namespace stretto::modules {

using namespace carrier;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAlarmPatience = std::chrono::milliseconds(200);
constexpr std::uint64_t kTagsThere = std::uint64_t{1} << kTagBits;

struct Transfer {
  std::uint64_t id = 0;
  int peer = 0;
  bool sends = false, in_use = false, ended = false, withdrawn = false;
  bool spreads = false;
  ucs_status_t status = UCS_OK;
  std::size_t bytes = 0;
  std::byte* room = nullptr;
  std::size_t capacity = 0;
  void* request = nullptr;
  std::array<void*, kMostConnections> pieces{};
  Lead lead;
};

class UcxCarrier final : public Carrier {
 public:
  UcxCarrier(UcxWorker& worker, unsigned channel, unsigned connections)
      : worker_(worker),
        channel_(channel),
        connections_(connections),
        alarms_(std::make_unique<std::array<Alarm, kMostAlarms>>()),
        heard_(std::make_unique<Alarm>()),
        alarm_requests_(kMostAlarms * std::size_t(worker.size())) {}

  ~UcxCarrier() override {
    // Abandoned transfers may still use the caller's memory. Receives are cancelled; sends end with their endpoints.
    ends_ = true;
    for (Transfer& t : *transfers_)
      if (t.in_use && !t.ended && !t.sends) cancel_requests(t);
    const auto end = Clock::now() + kAlarmPatience;
    Waiting waiting(true);
    const auto in_flight = [this](Transfer& t) { return t.in_use && !has_ended(t); };
    while (Clock::now() < end && std::any_of(transfers_->begin(), transfers_->end(), in_flight))
      if (worker_.progress() == 0) waiting.rest();
    const bool leads_lie = std::any_of(transfers_->begin(), transfers_->end(), in_flight);
    for (Transfer& t : *transfers_) release(t);
    if (leads_lie) static_cast<void>(transfers_.release());  // leaked: may still be read
    const bool sent = alarms_are_sent();
    for (void* request : alarm_requests_)
      if (request) worker_.ucp().request_free(request);
    if (!sent) static_cast<void>(alarms_.release());  // leaked: may still be read
    if (hearing_) worker_.ucp().request_cancel(worker_.handle(), hearing_);
    if (hearing_) worker_.ucp().request_free(hearing_);
  }

  const char* name() const noexcept override { return "ucx"; }
  int rank() const noexcept override { return worker_.rank(); }
  int size() const noexcept override { return worker_.size(); }
  std::uint64_t tags() const noexcept override { return kTagsThere; }

  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    ucp_ep_h endpoint = nullptr;
    Transfer* t = nullptr;
    // Messages of one tag and length stay in order. Short messages gain nothing on further connections.
    const unsigned connections = connections_to(peer);
    const unsigned first = bytes >= kLeastSpread ? static_cast<unsigned>(tag % connections) : 0;
    if (const Status s = begin(peer, id, true, &t, &endpoint, first); s != Status::ok || t->ended) return s;
    t->bytes = bytes;
    worker_.mark_sent(peer, first);
    const std::uint64_t own = worker_.tag(channel_, rank(), tag % kTagsThere);
    const unsigned pieces = pieces_of(bytes, connections);
    if (first > 0 || pieces > 1) {
      t->spreads = true;
      worker_.begin_spread();
    }
    if (pieces > 1) {
      send_pieces(t, endpoint, own, static_cast<const std::byte*>(data), pieces);
      return Status::ok;
    }
    ucp_request_param_t how = parameters();
    start(t, &t->request, worker_.ucp().tag_send_nbx(endpoint, data, bytes, own, &how));
    t->ended = !t->request;
    return Status::ok;
  }

  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    ucp_ep_h endpoint = nullptr;  // needed to notice the peer's end
    Transfer* t = nullptr;
    if (const Status s = begin(peer, id, false, &t, &endpoint); s != Status::ok) return s;
    t->room = static_cast<std::byte*>(data);
    t->capacity = capacity;
    ucp_request_param_t how = parameters();
    how.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // UCX 1.13 gives lengths only to requests
    const bool holds_lead = capacity >= sizeof(Lead);
    start(
        t, &t->request,
        worker_.ucp().tag_recv_nbx(worker_.handle(), holds_lead ? data : &t->lead, holds_lead ? capacity : sizeof(Lead),
                                   worker_.tag(channel_, peer, tag % kTagsThere), ~UcxWorker::kMaskCut, &how));
    t->ended = !t->request;
    // The peer may have sent it before its end.
    if (t->request && worker_.lost(peer) != UCS_OK) {
      worker_.progress();
      if (worker_.ucp().request_check_status(t->request) == UCS_INPROGRESS) cancel_requests(*t);
    }
    return Status::ok;
  }

  Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept override {
    *n = 0;
    look(done, n);
    if (*n > 0) waiting_.reset();
    if (*n > 0 || seconds <= 0) return Status::ok;
    for (LimitedWait wait(seconds, waiting_);
         open_ > 0 && *n == 0 && wait.next([this](double s) { worker_.sleep(s); });)
      look(done, n);
    if (*n > 0) waiting_.reset();
    return Status::ok;
  }

  bool cancel(std::uint64_t id) noexcept override {
    const auto at = std::find_if(transfers_->begin(), transfers_->end(),
                                 [id](const Transfer& t) { return t.in_use && !t.withdrawn && t.id == id; });
    if (at == transfers_->end()) return true;
    at->withdrawn = true;
    --open_;
    if (!at->ended && !at->sends) cancel_requests(*at);
    for (int turn = 0; !has_ended(*at) && turn < 1000; ++turn)
      if (worker_.progress() == 0) sched_yield();
    if (!at->ended) return false;
    release(*at);
    return true;
  }

  bool peek(int peer, Arrival* found) noexcept override {
    worker_.progress();
    ucp_tag_recv_info_t info{};
    constexpr std::uint64_t any = UcxWorker::kMaskMessage | UcxWorker::kMaskCut;
    if (!worker_.ucp().tag_probe_nb(worker_.handle(), worker_.tag(channel_, peer, 0), ~any, 0, &info)) return false;
    const bool cut = info.sender_tag & UcxWorker::kMaskCut;
    *found = {peer, info.sender_tag & UcxWorker::kMaskMessage, cut ? 2 * kLeastPiece : info.length, cut};
    return found->tag != kTagsThere - 1;
  }

  void raise(const Alarm& alarm) noexcept override {
    if (raised_ == kMostAlarms) return;
    Alarm& own = (*alarms_)[raised_];
    own = alarm;
    for (int peer = 0; peer < size(); ++peer) {
      ucp_ep_h endpoint = nullptr;
      if (peer == rank() || worker_.reach(peer, &endpoint) != Status::ok) continue;
      ucp_request_param_t how{};
      const ucs_status_ptr_t request =
          worker_.ucp().tag_send_nbx(endpoint, &own, sizeof own, worker_.tag(channel_, rank(), kTagsThere - 1), &how);
      if (UCS_PTR_IS_PTR(request)) alarm_requests_[raised_ * std::size_t(size()) + std::size_t(peer)] = request;
    }
    ++raised_;
    Waiting waiting(true);
    for (const auto begin = Clock::now(); !alarms_are_sent() && Clock::now() - begin < kAlarmPatience;)
      if (worker_.progress() == 0) waiting.rest();
  }

  bool hear(Alarm* alarm) noexcept override {
    worker_.progress();
    ucs_status_t status = UCS_INPROGRESS;
    if (!hearing_) {
      ucp_tag_recv_info_t info{};
      const std::uint64_t any = worker_.tag(channel_, 0, kTagsThere - 1);
      const ucp_tag_message_h there =
          worker_.ucp().tag_probe_nb(worker_.handle(), any, ~UcxWorker::kMaskSender, 1, &info);
      if (!there) return false;
      hearing_from_ = static_cast<int>((info.sender_tag & UcxWorker::kMaskSender) >> UcxWorker::kRankShift);
      ucp_request_param_t how{};
      const ucs_status_ptr_t request =
          worker_.ucp().tag_msg_recv_nbx(worker_.handle(), heard_.get(), sizeof(Alarm), there, &how);
      if (UCS_PTR_IS_PTR(request))
        hearing_ = request;
      else
        status = UCS_PTR_STATUS(request);
    }
    const auto end = Clock::now() + kAlarmPatience;
    Waiting waiting(true);
    while (hearing_ && (status = worker_.ucp().request_check_status(hearing_)) == UCS_INPROGRESS && Clock::now() < end)
      if (worker_.progress() == 0) waiting.rest();
    if (status == UCS_INPROGRESS) return false;
    if (hearing_) worker_.ucp().request_free(std::exchange(hearing_, nullptr));
    if (status != UCS_OK) return false;
    *alarm = *heard_;
    alarm->rank = hearing_from_;
    alarm->text.back() = 0;
    return true;
  }

 private:
  static ucp_request_param_t parameters() noexcept {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    how.memory_type = UCS_MEMORY_TYPE_HOST;  // saves a query of the driver per buffer
    return how;
  }

  unsigned connections_to(int peer) const noexcept {
    if (peer < 0 || peer >= size() || peer == rank()) return 1;
    return std::min(connections_, worker_.connections_to(peer));
  }

  bool alarms_are_sent() const noexcept {
    return std::all_of(alarm_requests_.begin(), alarm_requests_.end(), [this](void* request) {
      return !request || worker_.ucp().request_check_status(request) != UCS_INPROGRESS;
    });
  }

  Status begin(int peer, std::uint64_t id, bool sends, Transfer** made, ucp_ep_h* endpoint,
               unsigned connection = 0) noexcept {
    if (peer < 0 || peer >= size()) return fail(Status::invalid_argument, "a message with rank {} of {}", peer, size());
    if (free_.empty()) {
      const Status listed = guarded("to list a message", [&] {
        free_.reserve(transfers_->size() + 1);
        transfers_->emplace_back();
      });
      if (listed != Status::ok) return listed;
      free_.push_back(&transfers_->back());
    }
    Transfer* const t = free_.back();
    free_.pop_back();
    *t = {};
    t->id = id;
    t->peer = peer;
    t->sends = sends;
    t->in_use = true;
    if (worker_.reach(peer, endpoint, connection) != Status::ok && sends) {
      t->status = worker_.lost(peer);
      t->ended = true;
    }
    ++open_;
    waiting_.reset();
    *made = t;
    return Status::ok;
  }

  static void start(Transfer* t, void** request, ucs_status_ptr_t answer) noexcept {
    if (UCS_PTR_IS_PTR(answer))
      *request = answer;
    else
      note(t, UCS_PTR_STATUS(answer));
  }

  static void note(Transfer* t, ucs_status_t status) noexcept {
    if (t->status == UCS_OK) t->status = status;
  }

  void send_pieces(Transfer* t, ucp_ep_h first, std::uint64_t tag, const std::byte* data, unsigned pieces) noexcept {
    std::array<ucp_ep_h, kMostConnections> endpoints{};
    for (unsigned i = 0; i < pieces; ++i)
      if (worker_.reach(t->peer, &endpoints[i], i) != Status::ok) {
        note(t, worker_.lost(t->peer));
        t->ended = true;
        return;
      }
    t->lead = {t->bytes, worker_.next_number(), pieces};
    ucp_request_param_t how = parameters();
    const Ucp& ucp = worker_.ucp();
    start(t, &t->request, ucp.tag_send_nbx(first, &t->lead, sizeof t->lead, tag | UcxWorker::kMaskCut, &how));
    for (unsigned i = 0; i < pieces; ++i) {
      const Piece piece = piece_of(t->bytes, pieces, i);
      worker_.mark_sent(t->peer, i);
      start(t, &t->pieces[i],
            ucp.tag_send_nbx(endpoints[i], data + piece.offset, piece.bytes,
                             worker_.tag_of_piece(rank(), t->lead.number, i), &how));
    }
  }

  // Drops a message that does not fit, so that its sender continues.
  void receive_pieces(Transfer* t) noexcept {
    if (t->capacity >= sizeof t->lead) std::memcpy(&t->lead, t->room, sizeof t->lead);
    t->bytes = t->lead.bytes;
    const bool fits = t->bytes <= t->capacity;
    if (!fits) note(t, UCS_ERR_MESSAGE_TRUNCATED);
    ucp_request_param_t how = parameters();
    const unsigned pieces = std::min(t->lead.pieces, kMostConnections);
    for (unsigned i = 0; i < pieces; ++i) {
      const Piece piece = piece_of(t->bytes, pieces, i);
      start(
          t, &t->pieces[i],
          worker_.ucp().tag_recv_nbx(worker_.handle(), fits ? t->room + piece.offset : t->room, fits ? piece.bytes : 0,
                                     worker_.tag_of_piece(t->peer, t->lead.number, i), ~std::uint64_t{0}, &how));
    }
    if (worker_.lost(t->peer) != UCS_OK) cancel_requests(*t);
  }

  void cancel_requests(Transfer& t) noexcept {
    if (t.request) worker_.ucp().request_cancel(worker_.handle(), t.request);
    for (void* piece : t.pieces)
      if (piece) worker_.ucp().request_cancel(worker_.handle(), piece);
  }

  void release(Transfer& t) noexcept {
    if (!t.in_use) return;
    if (t.spreads) worker_.end_spread();
    if (t.request) worker_.ucp().request_free(t.request);
    for (void* piece : t.pieces)
      if (piece) worker_.ucp().request_free(piece);
    t.request = nullptr;
    t.pieces = {};
    t.in_use = false;
    free_.push_back(&t);
  }

  // Reports the last transfer once all sent bytes have left.
  void look(std::span<Completion> done, std::size_t* n) noexcept {
    worker_.progress();
    if (worker_.losses() != losses_) withdraw_from_lost();
    for (Transfer& t : *transfers_) {
      if (!t.in_use) continue;
      if (!has_ended(t)) continue;
      if (t.withdrawn) {
        release(t);
        continue;
      }
      if (*n == done.size()) break;
      if (open_ == 1 && !worker_.has_left()) break;
      done[(*n)++] = completion(t);
      --open_;
      release(t);
    }
  }

  bool has_ended(Transfer& t) noexcept {
    if (t.ended) return true;
    if (t.request && !(t.sends ? has_ended(&t, &t.request) : is_received(&t))) return false;
    t.ended = true;
    for (void*& piece : t.pieces) t.ended &= !piece || has_ended(&t, &piece);
    return t.ended;
  }

  bool has_ended(Transfer* t, void** request) noexcept {
    const ucs_status_t s = worker_.ucp().request_check_status(*request);
    if (s == UCS_INPROGRESS) return false;
    worker_.ucp().request_free(std::exchange(*request, nullptr));
    note(t, s);
    return true;
  }

  bool is_received(Transfer* t) noexcept {
    ucp_tag_recv_info_t info{};
    const ucs_status_t s = worker_.ucp().tag_recv_request_test(t->request, &info);
    if (s == UCS_INPROGRESS) return false;
    worker_.ucp().request_free(std::exchange(t->request, nullptr));
    note(t, s);
    t->bytes = info.length;
    if (s != UCS_OK || ends_) return true;
    worker_.mark_received(t->peer, t->bytes);
    if (info.sender_tag & UcxWorker::kMaskCut)
      receive_pieces(t);
    else if (t->bytes > t->capacity)
      note(t, UCS_ERR_MESSAGE_TRUNCATED);
    else if (t->capacity < sizeof t->lead)
      std::memcpy(t->room, &t->lead, t->bytes);
    return true;
  }

  Completion completion(const Transfer& t) const noexcept {
    Completion c{t.id, t.bytes, Status::ok};
    if (t.status == UCS_OK) return c;
    if (t.status == UCS_ERR_MESSAGE_TRUNCATED)
      c.status = fail(Status::incompatible, std::string_view("a message is longer than its receive"));
    else
      c.status = worker_.failed(t.peer, worker_.lost(t.peer) != UCS_OK ? worker_.lost(t.peer) : t.status);
    return c;
  }

  // UCX does not bind a receive to its sender, and would wait for an ended rank for ever.
  void withdraw_from_lost() noexcept {
    losses_ = worker_.losses();
    for (Transfer& t : *transfers_)
      if (t.in_use && !t.ended && !t.sends && worker_.lost(t.peer) != UCS_OK) cancel_requests(t);
  }

  UcxWorker& worker_;
  const unsigned channel_, connections_;
  unsigned losses_ = 0;
  std::size_t open_ = 0;
  Waiting waiting_ = worker_.waiting();
  bool ends_ = false;
  std::unique_ptr<std::deque<Transfer>> transfers_ = std::make_unique<std::deque<Transfer>>();  // stable addresses
  std::vector<Transfer*> free_;
  std::size_t raised_ = 0;
  std::unique_ptr<std::array<Alarm, kMostAlarms>> alarms_;
  std::unique_ptr<Alarm> heard_;
  void* hearing_ = nullptr;
  int hearing_from_ = -1;
  std::vector<void*> alarm_requests_;
};

}  // namespace

Status make_ucx_carrier(UcxWorker& worker, unsigned channel, unsigned connections,
                        std::unique_ptr<Carrier>* made) noexcept {
  return guarded({"for the carrier of rank {}", worker.rank()}, [&] {
    *made = std::make_unique<UcxCarrier>(worker, channel, connections);
    return Status::ok;
  });
}

}  // namespace stretto::modules
