#include "backend/peer/messages.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "backend/peer/memory.hpp"
#include "backend/peer/notes.hpp"
#include "base/guarded.hpp"
#include "base/waiting.hpp"

namespace stretto::backend {
namespace {

using carrier::Completion;
using carrier::DeviceTransfer;
using Clock = std::chrono::steady_clock;

constexpr auto kLongestEnd = std::chrono::seconds(2);

struct Transfer {
  // open: no offer has come. waits: for a note. lent: our device may read it. moves: our device copies. tells: a note
  // of the end is in flight.
  enum class State : std::uint8_t { open, waits, lent, moves, tells, ended };
  DeviceTransfer given;
  std::uint64_t number = 0;
  State state = State::open;
  bool reported = false;
  carrier::Loan loan;
  Status status = Status::ok;
  void* event = nullptr;
  std::uint64_t peers = 0;
};

struct Offer {
  int peer;
  Note note;
};

constexpr Purpose kForMessages("for messages between devices");

class Peers final : public PeerMessages, PeerNotes::Reader {
 public:
  Peers(device::Device& device, std::span<const PeerCard> cards, int rank)
      : device_(device), cards_(cards.begin(), cards.end()), rank_(rank), memory_(device), notes_(rank, cards.size()) {}
  ~Peers() override { end(); }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  Status open(std::unique_ptr<carrier::Carrier>* carrier) {
    if (!*carrier) return fail(Status::unsupported, std::string_view("peer access was tried before"));
    for (std::size_t r = 0; r < cards_.size(); ++r) {
      if (const Status s = reach(r); s != Status::ok) return s;
    }
    if (const Status s = check(plugin().create_stream(&stream_), "a stream"); s != Status::ok) return s;
    notes_.begin(std::move(*carrier));
    return Status::ok;
  }

  bool crosses_processes() const noexcept override {
    return std::any_of(cards_.begin(), cards_.end(), [this](const PeerCard& c) { return c.process != own().process; });
  }

  int most_on_a_device() const noexcept override {
    std::ptrdiff_t most = 1;
    for (const PeerCard& a : cards_)
      most = std::max(most, std::count_if(cards_.begin(), cards_.end(), [&](const PeerCard& b) {
                        return a.process == b.process && a.device == b.device;
                      }));
    return static_cast<int>(most);
  }

  Status give(device::MemoryHandle* handle) noexcept override {
    payload::Buffer some;
    if (const Status s = device_.pool(0).take(1, &some); s != Status::ok) return s;
    std::uint64_t offset = 0;
    return memory_.lend(some.data(), handle, &offset);
  }

  Status take(std::span<const device::MemoryHandle> handles) noexcept override {
    for (std::size_t r = 0; r < handles.size(); ++r) {
      std::byte* base = nullptr;
      if (in_process(static_cast<int>(r))) continue;
      if (const Status s = memory_.open(handles[r], &base); s != Status::ok) return s;
    }
    return Status::ok;
  }

  const char* name() const noexcept override { return crosses_processes() ? "peer (CUDA IPC)" : "peer"; }
  bool one_by_one() const noexcept override { return false; }
  bool drops() const noexcept override { return true; }

  // Streams lie in a peer's pools. Raw values may lie in any allocation, so the peer must share this device and
  // process.
  bool lends(int peer, bool raw) const noexcept override {
    return !raw || (in_process(peer) && cards_[static_cast<std::size_t>(peer)].device == own().device);
  }

  Status borrow(const carrier::Loan& loan) noexcept override {
    if (broken_) return broken();
    const Transfer* const t = find(loan.number);
    if (t == nullptr || t->state != State::lent) return no_loan(loan);
    return notes_.lost(t->given.peer) ? fail(Status::mpi_error, "rank {} has ended or cannot be reached", t->given.peer)
                                      : Status::ok;
  }

  Status give_back(const carrier::Loan& loan) noexcept override {
    if (broken_) return broken();
    Transfer* const t = find(loan.number);
    if (t == nullptr || t->state != State::lent) return no_loan(loan);
    if (notes_.lost(t->given.peer)) {
      t->state = State::ended;
      return Status::ok;
    }
    const Status s = tell_end(*t);
    return s == Status::ok ? s : breaks(s);
  }

  Status start(std::span<const DeviceTransfer> group) noexcept override {
    if (broken_) return broken();
    for (const DeviceTransfer& t : group) {
      if (const Status s = begin(t); s != Status::ok) return breaks(s);
    }
    const Status s = advance();
    return s == Status::ok ? s : breaks(s);
  }

  Status poll(std::span<Completion> done, std::size_t* n) noexcept override {
    *n = 0;
    if (broken_) return broken();
    if (transfers_.empty()) return Status::ok;
    Status s = notes_.hear(*this);
    if (s == Status::ok) s = advance();
    if (s != Status::ok) return breaks(s);
    for (auto t = transfers_.begin(); t != transfers_.end() && *n < done.size();) {
      const bool lent = t->state == State::lent && !t->reported;
      if (t->state != State::ended && !lent) {
        ++t;
        continue;
      }
      done[(*n)++] = {t->given.id, t->given.bytes, t->status};
      if (lent) {
        *t->given.loan = t->loan;
        t->reported = true;
        continue;
      }
      if (t->event) free_events_.push_back(t->event);  // has room: take_event()
      const auto ended = t++;
      spare_transfers_.splice(spare_transfers_.begin(), transfers_, ended);
    }
    return Status::ok;
  }

  void abort() noexcept override { broken_ = true; }

 private:
  using State = Transfer::State;

  const device::Plugin& plugin() const noexcept { return device_.plugin(); }
  const PeerCard& own() const noexcept { return cards_[static_cast<std::size_t>(rank_)]; }
  bool in_process(int peer) const noexcept { return cards_[static_cast<std::size_t>(peer)].process == own().process; }
  Status broken() const noexcept {
    return fail(Status::internal, std::string_view("messages between devices in reach have been ended"));
  }
  static Status no_loan(const carrier::Loan& loan) noexcept {
    return fail(Status::internal, "message {} between devices is not lent", loan.number);
  }
  Status breaks(Status s) noexcept {
    broken_ = true;
    return s;
  }
  Status check(int error, const char* what) noexcept { return device_.check(error, what); }

  Status reach(std::size_t r) noexcept {
    const PeerCard& other = cards_[r];
    if (other.host == 0 || other.host != own().host)
      return fail(Status::unsupported, "ranks {} and {} are on different hosts", rank_, r);
    if (other.process != own().process || other.device == own().device) return Status::ok;
    const int number = static_cast<int>(other.device);
    int can = 0;
    if (const int e = plugin().reaches(device_.number(), number, &can); e != 0)
      return memory_.refused(e, "peer access");
    if (can == 0)
      return fail(Status::unsupported, "device {} does not reach the memory of device {}", device_.number(), number);
    const int e = plugin().allow_access(number);
    return e == 0 ? Status::ok : memory_.refused(e, "peer access");
  }

  Status take_event(void** event) noexcept {
    if (!free_events_.empty()) {
      *event = free_events_.back();
      free_events_.pop_back();
      return Status::ok;
    }
    Status s = guarded(kForMessages, [&] {
      free_events_.reserve(events_.size() + 1);
      events_.reserve(events_.size() + 1);
    });
    if (s == Status::ok) s = check(plugin().create_event(event), "an event");
    if (s == Status::ok) events_.push_back(*event);
    return s;
  }

  template <class T>
  static Status append(std::list<T>* to, std::list<T>* spare) noexcept {
    if (spare->empty()) {
      if (const Status s = guarded(kForMessages, [&] { spare->emplace_back(); }); s != Status::ok) return s;
    }
    spare->front() = T{};
    to->splice(to->end(), *spare, spare->begin());
    return Status::ok;
  }

  // Offers the message: its sender's host knows that it is there.
  Status begin(const DeviceTransfer& given) noexcept {
    if (const Status s = append(&transfers_, &spare_transfers_); s != Status::ok) return s;
    Transfer& t = transfers_.back();
    t.given = given;
    t.number = ++numbers_;
    if (given.sends) return offer(t);
    const auto at = std::find_if(offers_.begin(), offers_.end(),
                                 [&](const Offer& o) { return o.peer == given.peer && o.note.tag == given.tag; });
    if (at == offers_.end()) return Status::ok;
    spare_offers_.splice(spare_offers_.begin(), offers_, at);
    return meet(t, at->note);
  }

  Status copy(Transfer& t, void* to, const void* from) noexcept {
    const Status s = check(plugin().copy(to, from, t.given.bytes, stream_), "a copy");
    t.state = State::moves;
    if (s != Status::ok) return s;
    if (const Status e = take_event(&t.event); e != Status::ok) return e;
    if (const Status e = guarded(kForMessages, [&] { moving_.push_back(&t); }); e != Status::ok) return e;
    return check(plugin().record(t.event, stream_), "an event");
  }

  Transfer* find(std::uint64_t number) noexcept {
    const auto at =
        std::find_if(transfers_.begin(), transfers_.end(), [=](const Transfer& t) { return t.number == number; });
    return at == transfers_.end() ? nullptr : &*at;
  }

  Status offer(Transfer& t) noexcept {
    Note note{Note::offer, t.number, 0, t.given.tag, t.given.bytes};
    if (in_process(t.given.peer)) {
      note.address = reinterpret_cast<std::uintptr_t>(t.given.data);
    } else if (!memory_.may_lend(t.given.data)) {
      note.kind = Note::ask;
    } else if (const Status s = memory_.lend(t.given.data, &note.handle, &note.address); s != Status::ok) {
      return s;
    }
    t.state = State::waits;
    return notes_.tell(t.given.peer, note);
  }

  Status meet(Transfer& t, const Note& note) noexcept {
    t.peers = note.transfer;
    if (note.bytes != t.given.bytes)
      t.status = fail(Status::incompatible, "a message of rank {}'s device has {} bytes, not the {} announced",
                      t.given.peer, note.bytes, t.given.bytes);
    const bool borrows = t.given.loan != nullptr;
    if (borrows && note.kind == Note::ask)
      t.status = fail(Status::internal, "rank {} cannot lend what is to be borrowed", t.given.peer);
    if (t.status != Status::ok || (t.given.data == nullptr && !borrows)) return tell_end(t);
    if (note.kind == Note::ask) {
      t.state = State::waits;
      Note room{Note::room, t.peers, t.number};
      const Status s = memory_.lend(t.given.data, &room.handle, &room.address);
      return s == Status::ok ? notes_.tell(t.given.peer, room) : s;
    }
    const auto* from = reinterpret_cast<const std::byte*>(note.address);
    if (!in_process(t.given.peer)) {
      std::byte* base = nullptr;
      if (const Status s = memory_.open(note.handle, &base); s != Status::ok) return s;
      from = base + note.address;
    }
    if (borrows) {
      t.loan = {from, t.number};
      t.state = State::lent;
      return Status::ok;
    }
    return copy(t, t.given.data, from);
  }

  Status put(Transfer& t, const Note& room) noexcept {
    t.peers = room.own;
    std::byte* base = nullptr;
    const Status s = memory_.open(room.handle, &base);
    return s == Status::ok ? copy(t, base + room.address, t.given.data) : s;
  }

  Status tell_end(Transfer& t) noexcept {
    const Note note{t.given.sends ? Note::put : Note::taken, t.peers};
    t.state = State::tells;
    return notes_.tell(t.given.peer, note, t.number);
  }

  // Copies end in order: only the oldest is queried.
  Status advance() noexcept {
    for (Transfer& t : transfers_) {
      if (notes_.lost(t.given.peer)) lose(t);
    }
    while (!moving_.empty() && pace_.may_ask()) {
      Transfer& t = *moving_.front();
      int over = 0;
      if (const Status s = check(plugin().is_over(t.event, &over), "a message"); s != Status::ok) return s;
      if (over == 0) {
        pace_.asked_in_vain();
        break;
      }
      moving_.pop_front();
      if (!notes_.lost(t.given.peer)) {
        if (const Status s = tell_end(t); s != Status::ok) return s;
        continue;
      }
      t.state = State::tells;
      lose(t);
    }
    return Status::ok;
  }

  // Ends a transfer whose peer has ended; its copies and reads go on.
  void lose(Transfer& t) const noexcept {
    const bool in_use = t.reported && t.state == State::lent;  // until it is given back
    if (in_use || t.state == State::moves || t.state == State::ended) return;
    if (t.given.sends || t.state != State::tells)
      t.status = fail(Status::mpi_error, "rank {} has ended or cannot be reached", t.given.peer);
    t.state = State::ended;
  }

  Status read(int peer, const Note& note) noexcept override {
    if (note.kind == Note::offer || note.kind == Note::ask) {
      const auto receive = std::find_if(transfers_.begin(), transfers_.end(), [&](const Transfer& t) {
        return t.state == State::open && t.given.peer == peer && t.given.tag == note.tag;
      });
      if (receive != transfers_.end()) return meet(*receive, note);
      const Status s = append(&offers_, &spare_offers_);
      if (s == Status::ok) offers_.back() = {peer, note};
      return s;
    }
    Transfer* const t = find(note.transfer);
    if (t == nullptr || t->given.peer != peer || t->state != State::waits) return Status::ok;
    if (note.kind == Note::room) return put(*t, note);
    t->state = State::ended;
    return Status::ok;
  }

  void left(std::uint64_t transfer) noexcept override {
    if (Transfer* const t = find(transfer)) t->state = State::ended;
  }

  // Waits for all enqueued work, also on others' memory. False: not done by `limit`. A lost device is done.
  bool comes_to_end(Clock::time_point limit) noexcept {
    for (Waiting waiting(true); device_.poll() == Status::ok && !device_.idle(); waiting.rest()) {
      if (Clock::now() >= limit) return false;
    }
    for (void* event : events_) {
      Waiting waiting(true);
      for (int over = 0; over == 0; waiting.rest()) {
        if (Clock::now() >= limit) return false;
        if (plugin().is_over(event, &over) != 0) return true;
      }
    }
    return true;
  }

  // Afterwards no rank accesses another's memory. Waits for other ranks until the limit, and keeps memory that missing
  // ones may still access.
  void end() noexcept {
    const device::Device::Visit visit(device_);
    const auto limit = Clock::now() + kLongestEnd;
    const bool quiet = comes_to_end(limit);
    if (quiet) memory_.close_all();
    const bool all = notes_.close(quiet, limit);
    if (!all) device_.keep_shared();
    for (void* event : events_) static_cast<void>(plugin().destroy_event(event));
    if (stream_ != nullptr) static_cast<void>(plugin().destroy_stream(stream_));
  }

  device::Device& device_;
  const std::vector<PeerCard> cards_;
  const int rank_;
  PeerMemory memory_;
  PeerNotes notes_;
  void* stream_ = nullptr;
  std::vector<void*> events_, free_events_;
  std::list<Transfer> transfers_, spare_transfers_;
  std::deque<Transfer*> moving_;
  std::list<Offer> offers_, spare_offers_;
  device::Pace pace_;
  std::uint64_t numbers_ = 0;
  bool broken_ = false;
};

// A forked child shares the number; with the process id it tells processes apart in any namespace.
std::uint64_t process_number() noexcept {
  static const std::uint64_t number = [] {
    std::uint64_t n = 0;
    return getrandom(&n, sizeof n, 0) == static_cast<ssize_t>(sizeof n) ? n : 0;
  }();
  return number;
}

}  // namespace

PeerCard peer_card(int device) noexcept {
  PeerCard card{process_number() ^ static_cast<std::uint64_t>(getpid()), 0, static_cast<std::uint64_t>(device)};
  static_cast<void>(attempt([&] {  // else no rank uses peer messages
    std::string boot;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, boot);
    if (!boot.empty() && process_number() != 0) card.host = std::hash<std::string>{}(boot);
  }));
  return card;
}

Status make_peer_messages(device::Device& device, std::span<const PeerCard> cards,
                          std::unique_ptr<carrier::Carrier>* carrier, std::unique_ptr<PeerMessages>* made) noexcept {
  return guarded(kForMessages, [&] {
    const int rank = *carrier ? (*carrier)->rank() : 0;
    auto peers = std::make_unique<Peers>(device, cards, rank);
    if (const Status s = peers->open(carrier); s != Status::ok) return s;
    *made = std::move(peers);
    return Status::ok;
  });
}

}  // namespace stretto::backend
