#include <cstring>

#include "node/group/group.hpp"
#include "node/group/watched.hpp"

namespace stretto::node {

// Falls back to the peer's last call.
std::string Group::whereabouts(int peer, std::uint64_t call) const {
  const State& s = state(peer);
  const std::uint64_t calls = s.calls.load(std::memory_order_relaxed);
  const std::uint64_t returned = s.returned.load(std::memory_order_relaxed);
  if (calls == 0) return "called nothing yet";
  const std::uint64_t at = call <= calls && calls - call < kCalls ? call : calls;
  return fmt::format("{} its collective {}, {}", returned >= at ? "has left" : "is in", at, called(peer, at).text());
}

std::string Group::whereabouts(int peer) const {
  return whereabouts(peer, state(peer).calls.load(std::memory_order_relaxed));
}

std::vector<Peer> Group::peers() const {
  std::vector<Peer> all;
  for (int r = 0; r < size_; ++r) {
    const Member& m = members_[static_cast<std::size_t>(r)];
    if (m.process) all.push_back({m.number, m.pid, m.process});
  }
  return all;
}

Status Group::refuse_child() noexcept {
  return fail(Status::unsupported, "a group of ranks was used in a forked child of the process that made it");
}

Status Group::check() noexcept {
  if (head().broken.load(std::memory_order_acquire) == 2) return broken();
  if (other_->broken.load(std::memory_order_acquire) == 2) return broken(*other_);
  for (int r = 0; r < size_; ++r) {
    const Member& m = members_[static_cast<std::size_t>(r)];
    // Acquire order: a rank with a higher count has left all earlier collectives.
    const bool ahead = state(r).began.load(std::memory_order_acquire) > began_;
    if (ahead && state(r).calls.load(std::memory_order_relaxed) < calls_)
      return fail(Status::incompatible,
                  "ranks call differently: rank {} is in its collective {}, {}, rank {} started one", number(rank_),
                  calls_, called(rank_, calls_).text(), m.number);
    if (const Status s = compare(r); s != Status::ok) return s;
    // Acquire order: what the rank called before it freed the group counts.
    if (state(r).freed.load(std::memory_order_acquire) != 0 && state(r).calls.load(std::memory_order_relaxed) < calls_)
      return fail(Status::mpi_error,
                  "rank {} (process {}) has freed the communicator; it {}; rank {} waits in its collective {}, {}",
                  m.number, m.pid, whereabouts(r), number(rank_), calls_, called(rank_, calls_).text());
    if (!m.process || !m.process->has_ended()) continue;
    // The process may have ended normally, after publishing its lines. Only the awaited rank's end is a failure.
    if (r != awaited_ && state(r).returned.load(std::memory_order_relaxed) >= calls_) continue;
    return fail(Status::mpi_error, "rank {} (process {}) has ended; it {}; rank {} waits in its collective {}, {}",
                m.number, m.pid, whereabouts(r), number(rank_), calls_, called(rank_, calls_).text());
  }
  return Status::ok;
}

Status Group::give_up(double seconds) noexcept {
  return fail(Status::timeout, "rank {} waited {:.1f} s for rank {} in its collective {}, {}; rank {} (process {}) {}",
              number(rank_), seconds, number(awaited_), calls_, called(rank_, calls_).text(), number(awaited_),
              members_[static_cast<std::size_t>(awaited_)].pid, whereabouts(awaited_));
}

Status Group::give_up_all(Status why) noexcept {
  Head& h = head();
  std::uint32_t none = 0;
  if (h.broken.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) {
    h.status = static_cast<std::uint32_t>(why);
    h.differed = differed_ ? 1 : 0;
    copy_message(h.text);
    h.broken.store(2, std::memory_order_release);
    for (int r = 0; r < size_; ++r) state(r).bell.wake();
  }
  return why;
}

Status Group::broken(const Head& h) noexcept {
  for (int i = 0; h.broken.load(std::memory_order_acquire) != 2; ++i) {
    if (i == 1000000) return fail(Status::timeout, "this group was given up by a rank that died doing so");
    pause();
  }
  const auto status = h.status;  // untrusted: another process can write any value
  const bool known = status >= static_cast<std::uint32_t>(Status::invalid_argument) &&
                     status <= static_cast<std::uint32_t>(Status::internal);
  char text[sizeof h.text];
  std::memcpy(text, h.text, sizeof text);
  text[sizeof text - 1] = '\0';
  return fail(known ? static_cast<Status>(status) : Status::internal, "{}", text);
}

}  // namespace stretto::node
