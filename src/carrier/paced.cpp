#include "carrier/paced.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <utility>

#include "base/guarded.hpp"
#include "base/text/positive.hpp"
#include "base/waiting.hpp"

namespace stretto::carrier {
namespace {

class Paced final : public Carrier {
 public:
  Paced(std::unique_ptr<Carrier> to, double gbit) : to_(std::move(to)), seconds_per_byte_(8 / (gbit * 1e9)) {}

  const char* name() const noexcept override { return to_->name(); }
  int rank() const noexcept override { return to_->rank(); }
  int size() const noexcept override { return to_->size(); }
  std::uint64_t tags() const noexcept override { return to_->tags(); }

  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    const bool outside = peer >= 0 && peer < size() && peer != rank();
    if (!outside || (waiting_.empty() && bytes == 0)) return to_->start_send(peer, tag, data, bytes, id);
    return guarded("to list a message", [&] {
      const Seconds after = std::max(free_, now()) + Seconds(seconds_per_byte_ * double(bytes));
      waiting_.push_back({peer, tag, data, bytes, id, after});
      free_ = after;
      return Status::ok;
    });
  }

  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    return to_->start_recv(peer, tag, data, capacity, id);
  }

  Status wait_any(std::span<Completion> done, std::size_t* n, double seconds) noexcept override {
    *n = 0;
    for (const Seconds begin = now();;) {
      hand_on(done, n);
      if (*n > 0 || done.empty()) return Status::ok;
      const double left = seconds - (now() - begin).count();
      if (waiting_.empty()) return to_->wait_any(done, n, std::max(left, 0.0));
      const double wait = std::max(std::min(left, (waiting_.front().after - now()).count()), 0.0);
      const Seconds end = now() + Seconds(wait);
      if (const Status s = to_->wait_any(done, n, wait); s != Status::ok || *n > 0 || left <= 0) return s;
      // A carrier with nothing in flight does not wait.
      if (const double rest = (end - now()).count(); rest > 0) sleep_for(rest);
    }
  }

  bool cancel(std::uint64_t id) noexcept override {
    const auto at = std::find_if(waiting_.begin(), waiting_.end(), [id](const Message& m) { return m.id == id; });
    if (at == waiting_.end()) return to_->cancel(id);
    waiting_.erase(at);
    return true;
  }

  bool peek(int peer, Arrival* found) noexcept override { return to_->peek(peer, found); }
  void raise(const Alarm& alarm) noexcept override { to_->raise(alarm); }
  bool hear(Alarm* alarm) noexcept override { return to_->hear(alarm); }
  void announce_in(std::atomic<std::uint32_t>& sent) noexcept override { to_->announce_in(sent); }
  void expect_nothing() noexcept override { to_->expect_nothing(); }

 private:
  using Seconds = std::chrono::duration<double>;
  static Seconds now() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }
  struct Message {
    int peer;
    std::uint64_t tag;
    const void* data;
    std::size_t bytes;
    std::uint64_t id;
    Seconds after;
  };

  void hand_on(std::span<Completion> done, std::size_t* n) noexcept {
    const Seconds passed = now();
    while (!waiting_.empty() && waiting_.front().after <= passed && *n < done.size()) {
      const Message& m = waiting_.front();
      const Status s = to_->start_send(m.peer, m.tag, m.data, m.bytes, m.id);
      if (s != Status::ok) done[(*n)++] = {m.id, 0, s};
      waiting_.pop_front();
    }
  }

  const std::unique_ptr<Carrier> to_;
  const double seconds_per_byte_;
  std::deque<Message> waiting_;
  Seconds free_{0};
};

}  // namespace

std::unique_ptr<Carrier> make_paced(std::unique_ptr<Carrier> to, double gbit) {
  return std::make_unique<Paced>(std::move(to), gbit);
}

bool is_paced() noexcept {
  const char* const text = secure_getenv(kPaceSetting);
  return text && *text;
}

Status pace(std::unique_ptr<Carrier>* carrier) noexcept {
  if (!is_paced()) return Status::ok;
  const char* const text = secure_getenv(kPaceSetting);
  double gbit = 0;
  if (!read_positive(text, &gbit))
    return fail(Status::invalid_argument, "{} is '{}', which is no positive number", kPaceSetting, text);
  return guarded("for a carrier", [&] {
    *carrier = make_paced(std::move(*carrier), gbit);
    return Status::ok;
  });
}

}  // namespace stretto::carrier
