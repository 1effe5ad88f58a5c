#include "backend/peer_messages.hpp"

#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <list>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace stretto::backend {
namespace {

using carrier::Completion;
using carrier::DeviceTransfer;
using Clock = std::chrono::steady_clock;

constexpr auto longest_end = std::chrono::seconds(2);  // until all ranks have closed
constexpr std::uint64_t tag_of_notes = 0;

// What ranks tell one another.
struct Note {
  enum Kind : std::uint64_t { offer = 1, taken = 2, closed = 3 };
  std::uint64_t kind = 0;
  std::uint64_t transfer = 0;  // its sender's number of it
  std::uint64_t tag = 0, bytes = 0;
  std::uint64_t address = 0;      // in one process; else within the allocation of the handle
  std::uint64_t event = 0;        // in one process: after it the message is there, or has been copied
  device::MemoryHandle handle{};  // between processes
};

struct Transfer {
  enum class State : std::uint8_t { open, waits, moves, tells, ended };
  DeviceTransfer given;
  std::uint64_t number = 0;
  State state = State::open;
  Status status = Status::ok;
  void* event = nullptr;    // ours
  void* theirs = nullptr;   // a send's: when it is over, the receiver has copied
  payload::Buffer staged;   // a send's
  std::uint64_t offer = 0;  // a receive's: the sender's number
};

// A note on its way.
struct Letter {
  Note note;
  std::uint64_t id = 0;
  std::uint64_t tells = 0;  // the receive that has ended when this has left; 0: none
};

struct Offer {
  int peer;
  Note note;
};

class Peers final : public PeerMessages {
 public:
  Peers(device::Device& device, std::span<const PeerCard> cards, int rank)
      : device_(device), cards_(cards.begin(), cards.end()), rank_(rank), lost_(cards.size()), closed_(cards.size()) {
    closed_[static_cast<std::size_t>(rank)] = 1;
  }
  ~Peers() override { end(); }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // Takes the carrier where it succeeds.
  Status open(std::unique_ptr<carrier::Carrier>* carrier) {
    if (!*carrier) return fail(Status::unsupported, std::string_view("peer access was tried before"));
    for (std::size_t r = 0; r < cards_.size(); ++r) {
      if (const Status s = reach(r); s != Status::ok) return s;
    }
    if (const Status s = check(plugin().create_stream(&stream_), "a stream"); s != Status::ok) return s;
    inbox_ = std::make_unique<std::vector<Note>>(cards_.size());
    carrier_ = std::move(*carrier);
    for (int r = 0; r < static_cast<int>(cards_.size()); ++r) {
      if (r != rank_) listen(r);
    }
    return Status::ok;
  }

  bool crosses_processes() const noexcept override {
    return std::any_of(cards_.begin(), cards_.end(), [this](const PeerCard& c) { return c.process != own().process; });
  }

  Status give(device::MemoryHandle* handle) noexcept override {
    payload::Buffer some;
    if (const Status s = device_.staging().take(1, &some); s != Status::ok) return s;
    std::byte* base = nullptr;
    return lend(some.data(), &base, handle);
  }

  Status take(std::span<const device::MemoryHandle> handles) noexcept override {
    for (std::size_t r = 0; r < handles.size(); ++r) {
      void* base = nullptr;
      if (in_process(static_cast<int>(r))) continue;
      if (const Status s = import(handles[r], &base); s != Status::ok) return s;
    }
    return Status::ok;
  }

  const char* name() const noexcept override { return crosses_processes() ? "peer (CUDA IPC)" : "peer"; }
  bool one_by_one() const noexcept override { return false; }

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
    Status s = hear();
    if (s == Status::ok) s = advance();
    if (s != Status::ok) return breaks(s);
    for (auto t = transfers_.begin(); t != transfers_.end() && *n < done.size();) {
      if (t->state != Transfer::State::ended) {
        ++t;
        continue;
      }
      done[(*n)++] = {t->given.id, t->given.bytes, t->status};
      if (t->event) free_events_.push_back(t->event);  // has room: take_event()
      t = transfers_.erase(t);
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
  Status breaks(Status s) noexcept {
    broken_ = true;
    return s;
  }
  Status check(int error, const char* what) noexcept { return device_.check(error, what); }

  // An answer that is no reason to lose the device.
  Status refused(int error, const char* what) const noexcept {
    return fail(Status::unsupported, "device {}, {}: CUDA error {}: {}", device_.number(), what, error,
                plugin().error_text(error));
  }

  Status reach(std::size_t r) noexcept {
    const PeerCard& other = cards_[r];
    if (other.host == 0 || other.host != own().host)
      return fail(Status::unsupported, "ranks {} and {} are on different hosts", rank_, r);
    if (other.process != own().process || other.device == own().device) return Status::ok;
    const int number = static_cast<int>(other.device);
    int can = 0;
    if (const int e = plugin().reaches(device_.number(), number, &can); e != 0) return refused(e, "peer access");
    if (can == 0)
      return fail(Status::unsupported, "device {} does not reach the memory of device {}", device_.number(), number);
    const int e = plugin().allow_access(number);
    return e == 0 ? Status::ok : refused(e, "peer access");
  }

  // The allocation of ours that has `p`, and its handle. A null base: it is the program's.
  Status lend(const void* p, std::byte** base, device::MemoryHandle* handle) noexcept {
    *base = device_.share(p);
    if (*base == nullptr) return Status::ok;
    if (const auto at = lent_.find(*base); at != lent_.end()) {
      *handle = at->second;
      return Status::ok;
    }
    if (const int e = plugin().export_memory(*base, handle); e != 0) return refused(e, "memory for another process");
    try {
      lent_.emplace(*base, *handle);
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
    return Status::ok;
  }

  Status import(const device::MemoryHandle& handle, void** base) noexcept {
    try {
      const std::string key(reinterpret_cast<const char*>(handle.bytes), sizeof handle.bytes);
      if (const auto at = imported_.find(key); at != imported_.end()) {
        *base = at->second;
        return Status::ok;
      }
      const auto at = imported_.emplace(key, nullptr).first;
      const int e = plugin().import_memory(handle, base);
      if (e != 0) imported_.erase(at);
      if (e != 0) return refused(e, "memory of another process");
      at->second = *base;
      return Status::ok;
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }

  static Status no_memory() noexcept {
    return fail(Status::out_of_memory, std::string_view("no memory for messages between devices"));
  }

  Status take_event(void** event) noexcept {
    if (!free_events_.empty()) {
      *event = free_events_.back();
      free_events_.pop_back();
      return Status::ok;
    }
    try {
      free_events_.reserve(events_.size() + 1);
      events_.reserve(events_.size() + 1);
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
    const Status s = check(plugin().create_event(event), "an event");
    if (s == Status::ok) events_.push_back(*event);
    return s;
  }

  // In one process: from here on, what has been written is there. Between processes: when what is to be staged has been.
  Status begin(const DeviceTransfer& given) noexcept {
    try {
      transfers_.emplace_back();
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
    Transfer& t = transfers_.back();
    t.given = given;
    t.number = ++numbers_;
    if (!given.sends) return Status::ok;
    if (!in_process(given.peer)) {
      if (device_.share(given.data) != nullptr) return Status::ok;
      if (const Status s = device_.staging().take(given.bytes, &t.staged); s != Status::ok) return s;
      const Status s = check(plugin().copy(t.staged.data(), given.data, given.bytes, stream_), "a copy");
      if (s != Status::ok) return s;
    }
    const Status s = take_event(&t.event);
    return s == Status::ok ? check(plugin().record(t.event, stream_), "an event") : s;
  }

  Status is_over(void* event, bool* over) noexcept {
    int yes = 0;
    const Status s = check(plugin().is_over(event, &yes), "a message");
    *over = yes != 0;
    return s;
  }

  // A send. Those of one pair are offered in the order of their beginning.
  Status offer(Transfer& t, std::vector<char>* waits) noexcept {
    char& earlier = (*waits)[static_cast<std::size_t>(t.given.peer)];
    if (earlier) return Status::ok;
    bool ready = true;
    if (t.event) {
      if (const Status s = is_over(t.event, &ready); s != Status::ok) return s;
    }
    earlier = !ready;
    if (!ready) return Status::ok;
    Note note{Note::offer, t.number, t.given.tag, t.given.bytes};
    if (in_process(t.given.peer)) {
      note.address = reinterpret_cast<std::uintptr_t>(t.given.data);
      note.event = reinterpret_cast<std::uintptr_t>(t.event);
    } else {
      const std::byte* const from = t.staged ? t.staged.data() : static_cast<const std::byte*>(t.given.data);
      std::byte* base = nullptr;
      if (const Status s = lend(from, &base, &note.handle); s != Status::ok) return s;
      note.address = static_cast<std::uint64_t>(from - base);
    }
    t.state = State::waits;
    return tell(t.given.peer, note, 0);
  }

  // A receive whose message has been offered.
  Status copy(Transfer& t, const Note& note) noexcept {
    t.offer = note.transfer;
    if (note.bytes != t.given.bytes)
      t.status = fail(Status::incompatible, "a message of rank {}'s device has {} bytes, not the {} announced",
                      t.given.peer, note.bytes, t.given.bytes);
    Status s = take_event(&t.event);
    if (s == Status::ok && t.status == Status::ok) {
      const auto* from = reinterpret_cast<const std::byte*>(note.address);
      if (in_process(t.given.peer)) {
        s = check(plugin().wait(stream_, reinterpret_cast<void*>(note.event)), "a wait");
      } else {
        void* base = nullptr;
        s = import(note.handle, &base);
        from = static_cast<const std::byte*>(base) + note.address;
      }
      if (s == Status::ok) s = check(plugin().copy(t.given.data, from, t.given.bytes, stream_), "a copy");
    }
    if (s == Status::ok) s = check(plugin().record(t.event, stream_), "an event");
    t.state = State::moves;
    return s;
  }

  Status advance() noexcept {
    try {
      std::vector<char> waits(cards_.size());
      for (Transfer& t : transfers_) {
        if (const Status s = advance(t, &waits); s != Status::ok) return s;
      }
      return Status::ok;
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }

  Status advance(Transfer& t, std::vector<char>* waits) noexcept {
    const bool lost = lost_[static_cast<std::size_t>(t.given.peer)] != 0;
    if (lost && t.state != State::ended && (t.given.sends || t.state != State::moves)) {
      t.status = fail(Status::internal, "rank {} has ended, or cannot be reached", t.given.peer);
      t.state = State::ended;
    }
    bool over = false;
    if (t.given.sends) {
      if (t.state == State::open) return offer(t, waits);
      if (t.state != State::moves) return Status::ok;
      const Status s = is_over(t.theirs, &over);
      if (over) t.state = State::ended;
      return s;
    }
    if (t.state == State::open) {
      const auto at = std::find_if(offers_.begin(), offers_.end(),
                                   [&](const Offer& o) { return o.peer == t.given.peer && o.note.tag == t.given.tag; });
      if (at == offers_.end()) return Status::ok;
      const Note note = at->note;
      offers_.erase(at);
      return copy(t, note);
    }
    if (t.state != State::moves) return Status::ok;
    if (const Status s = is_over(t.event, &over); s != Status::ok || !over) return s;
    t.state = State::tells;
    Note note{Note::taken, t.offer};
    if (in_process(t.given.peer)) note.event = reinterpret_cast<std::uintptr_t>(t.event);
    return tell(t.given.peer, note, t.number);
  }

  Status tell(int peer, const Note& note, std::uint64_t receive) noexcept {
    try {
      letters_.push_back({note, cards_.size() + ++numbers_, receive});
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
    Letter& letter = letters_.back();
    const Status s = carrier_->start_send(peer, tag_of_notes, &letter.note, sizeof letter.note, letter.id);
    if (s != Status::ok) letters_.pop_back();
    return s;
  }

  void listen(int peer) noexcept {
    const auto at = static_cast<std::size_t>(peer);
    if (carrier_->start_recv(peer, tag_of_notes, &(*inbox_)[at], sizeof(Note), at) != Status::ok) lost_[at] = 1;
  }

  Status hear() noexcept {
    std::array<Completion, 16> done;
    for (std::size_t n = done.size(); n == done.size();) {
      if (const Status s = carrier_->wait_any(done, &n, 0); s != Status::ok) return s;
      for (std::size_t i = 0; i < n; ++i) {
        if (const Status s = heard(done[i]); s != Status::ok) return s;
      }
    }
    return Status::ok;
  }

  Status heard(const Completion& c) noexcept {
    if (c.id >= cards_.size()) {
      const auto at = std::find_if(letters_.begin(), letters_.end(), [&](const Letter& l) { return l.id == c.id; });
      if (at == letters_.end()) return Status::ok;
      for (Transfer& t : transfers_) {
        if (at->tells == t.number) t.state = State::ended;
      }
      letters_.erase(at);
      return Status::ok;
    }
    const auto peer = static_cast<std::size_t>(c.id);
    if (c.status != Status::ok || c.bytes != sizeof(Note)) {
      lost_[peer] = 1;
      return Status::ok;
    }
    const Note note = (*inbox_)[peer];
    if (note.kind == Note::closed) closed_[peer] = 1;
    if (note.kind == Note::offer) {
      try {
        offers_.push_back({static_cast<int>(peer), note});
      } catch (const std::bad_alloc&) {
        return no_memory();
      }
    }
    for (Transfer& t : transfers_) {
      if (note.kind != Note::taken || !t.given.sends || t.number != note.transfer) continue;
      t.theirs = reinterpret_cast<void*>(note.event);
      t.state = t.theirs ? State::moves : State::ended;
    }
    listen(static_cast<int>(peer));
    return Status::ok;
  }

  // Nobody reads another's memory from here on, unless ranks do not come: then they are waited for no longer than this.
  void end() noexcept {
    const device::Device::Visit visit(device_);
    const auto limit = Clock::now() + longest_end;
    void* last = nullptr;
    bool over = stream_ == nullptr || take_event(&last) != Status::ok || plugin().record(last, stream_) != 0;
    while (!over && is_over(last, &over) == Status::ok && Clock::now() < limit) sched_yield();
    for (const auto& [handle, base] : imported_) static_cast<void>(plugin().end_import(base));
    if (carrier_) close(limit);
    const bool all = std::all_of(closed_.begin(), closed_.end(), [](char closed) { return closed != 0; });
    for (void* event : events_) {  // else another thread may still ask them
      if (all || crosses_processes()) static_cast<void>(plugin().destroy_event(event));
    }
    if (stream_ != nullptr) static_cast<void>(plugin().destroy_stream(stream_));
  }

  void close(Clock::time_point limit) noexcept {
    for (int r = 0; r < static_cast<int>(cards_.size()); ++r) {
      const auto at = static_cast<std::size_t>(r);
      if (r != rank_ && !lost_[at] && tell(r, {Note::closed}, 0) != Status::ok) lost_[at] = 1;
    }
    const auto open = [this] {
      for (std::size_t r = 0; r < cards_.size(); ++r) {
        if (!closed_[r] && !lost_[r]) return true;
      }
      return !letters_.empty();
    };
    while (open() && Clock::now() < limit && hear() == Status::ok) sched_yield();
    bool settled = true;
    for (std::size_t r = 0; r < cards_.size(); ++r) {
      if (static_cast<int>(r) != rank_ && !lost_[r]) settled = carrier_->cancel(r) && settled;
    }
    for (const Letter& l : letters_) settled = carrier_->cancel(l.id) && settled;
    carrier_.reset();
    if (settled) return;
    static_cast<void>(inbox_.release());  // kept on purpose: a carrier may still touch it
    static_cast<void>(new (std::nothrow) std::list<Letter>(std::move(letters_)));
  }

  device::Device& device_;
  const std::vector<PeerCard> cards_;
  const int rank_;
  std::vector<char> lost_, closed_;
  std::unique_ptr<std::vector<Note>> inbox_;  // a note for each rank
  std::list<Letter> letters_;
  std::unique_ptr<carrier::Carrier> carrier_;
  void* stream_ = nullptr;
  std::vector<void*> events_, free_events_;
  std::map<std::byte*, device::MemoryHandle> lent_;  // by the allocation's beginning
  std::map<std::string, void*> imported_;            // by the handle
  std::list<Transfer> transfers_;                    // in the order of their beginning
  std::list<Offer> offers_;                          // that no receive has asked for yet
  std::uint64_t numbers_ = 0;
  bool broken_ = false;
};

// With the process's own, which a forked child has not, it tells processes apart in whatever namespaces.
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
  try {
    std::string boot;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, boot);
    if (!boot.empty() && process_number() != 0) card.host = std::hash<std::string>{}(boot);
  } catch (...) {  // then no rank takes this way
  }
  return card;
}

Status make_peer_messages(device::Device& device, std::span<const PeerCard> cards,
                          std::unique_ptr<carrier::Carrier>* carrier, std::unique_ptr<PeerMessages>* made) noexcept {
  try {
    const int rank = *carrier ? (*carrier)->rank() : 0;
    auto peers = std::make_unique<Peers>(device, cards, rank);
    if (const Status s = peers->open(carrier); s != Status::ok) return s;
    *made = std::move(peers);
    return Status::ok;
  } catch (const std::bad_alloc&) {
    return fail(Status::out_of_memory, std::string_view("no memory for messages between devices"));
  }
}

}  // namespace stretto::backend
