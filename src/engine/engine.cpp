#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/run.hpp"

namespace stretto::engine {
namespace {

// Units that a run executes before the carrier is looked after again: codec work is long, and others wait for messages.
constexpr int turn = 2;

// Longest single wait for a transfer, so that limits of all runs are looked at.
constexpr double look_every = 0.25;

double seconds_since(Clock::time_point t) noexcept { return std::chrono::duration<double>(Clock::now() - t).count(); }

}  // namespace

struct Engine::Impl {
  explicit Impl(carrier::Carrier& c) : carrier(c) {}

  ~Impl() {
    for (auto& run : runs) {
      if (!run->active()) continue;
      run->give_up(Status::invalid_argument, "the engine was destroyed", &lost);
      static_cast<void>(run->finish(nullptr));
    }
  }

  carrier::Carrier& carrier;
  payload::Pool pool;                      // outlives all that borrow from it, below
  std::vector<Hold> lost;                  // memory of transfers that could not be withdrawn
  std::vector<std::unique_ptr<Run>> runs;  // by slot
  std::uint64_t sequence = 0;
  Clock::time_point left = Clock::now();  // when the caller last went away
  std::string broken;                     // why no further run may start; empty: nothing

  // A call into the engine. Limits are for waiting, not for long work that the caller does in between.
  class Visit {
   public:
    explicit Visit(Impl& impl) noexcept : impl_(impl) {
      const auto away = Clock::now() - impl.left;
      for (auto& run : impl.runs) {
        if (run->active()) run->pause(away);
      }
    }
    ~Visit() { impl_.left = Clock::now(); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Impl& impl_;
  };

  Status start(const Call& call, Run** started) noexcept;
  bool turn_all() noexcept;
  std::size_t fetch(double seconds) noexcept;
  void look_at_limits() noexcept;
  void give_up(Run& run, Status status, std::string text) noexcept;
  Status wait(Run& run, Report* report) noexcept;
};

Status Engine::Impl::start(const Call& call, Run** started) noexcept {
  if (!broken.empty()) return fail(Status::timeout, "this communicator is not usable any more: {}", broken);
  try {
    std::size_t slot = 0;
    while (slot < runs.size() && runs[slot]->active()) ++slot;
    if (slot == runs.size()) runs.push_back(std::make_unique<Run>());
    // Refused runs count, too: the ranks that were not refused have counted theirs.
    const std::uint64_t mine = sequence++;
    if (const Status s = runs[slot]->begin(call, carrier, pool, static_cast<std::uint32_t>(slot), mine);
        s != Status::ok)
      return s;
    *started = runs[slot].get();
    return Status::ok;
  } catch (const std::bad_alloc&) {
    return fail(Status::out_of_memory, "no memory to plan a collective of {} blocks", call.blocks.size());
  }
}

// Routes finished transfers to their runs; how many there were.
std::size_t Engine::Impl::fetch(double seconds) noexcept {
  std::array<carrier::Completion, 64> done;
  std::size_t n = 0;
  if (const Status s = carrier.wait_any(done, &n, seconds); s != Status::ok) {
    const std::string cause = message();
    for (auto& run : runs) {
      if (run->active() && !run->ended()) give_up(*run, s, cause);
    }
    return 0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto slot = static_cast<std::size_t>(done[i].id >> 32);
    if (slot < runs.size() && runs[slot]->active() && !runs[slot]->ended()) {
      runs[slot]->complete(static_cast<std::uint32_t>(done[i].id), done[i]);
    }
  }
  return n;
}

// One turn: finished transfers, then some work of every run. True when anything happened.
bool Engine::Impl::turn_all() noexcept {
  bool some = fetch(0) > 0;
  for (auto& run : runs) {
    if (run->active() && !run->ended()) some = run->advance(turn) || some;
  }
  return some;
}

void Engine::Impl::give_up(Run& run, Status status, std::string text) noexcept {
  if (broken.empty()) broken = text.empty() ? name(status) : text;
  run.give_up(status, std::move(text), &lost);
}

void Engine::Impl::look_at_limits() noexcept {
  const auto now = Clock::now();
  for (auto& run : runs) {
    if (run->active() && !run->ended() && run->overdue(now))
      give_up(*run, Status::timeout, run->diagnosis(run->timeout()));
  }
}

Status Engine::Impl::wait(Run& run, Report* report) noexcept {
  while (!run.ended()) {
    if (turn_all()) continue;
    if (run.ended()) break;
    const auto begin = Clock::now();
    const double limit = run.timeout() > 0 ? std::min(look_every, run.timeout()) : look_every;
    const std::size_t n = fetch(limit);
    run.waited(seconds_since(begin));
    if (n == 0) look_at_limits();
  }
  return run.finish(report);
}

Engine::Engine(carrier::Carrier& carrier) : impl_(std::make_unique<Impl>(carrier)) {}
Engine::~Engine() = default;

carrier::Carrier& Engine::carrier() noexcept { return impl_->carrier; }

Status Engine::run(const Call& call, Report* report) noexcept {
  const Impl::Visit visit(*impl_);
  Run* run = nullptr;
  if (const Status s = impl_->start(call, &run); s != Status::ok) return s;
  return impl_->wait(*run, report);
}

Status Engine::start(const Call& call, Request* request) noexcept {
  const Impl::Visit visit(*impl_);
  Run* run = nullptr;
  if (const Status s = impl_->start(call, &run); s != Status::ok) return s;
  *request = Request{};
  request->engine_ = this;
  request->run_ = run;
  run->advance(turn);
  return Status::ok;
}

Status Engine::progress() noexcept {
  const Impl::Visit visit(*impl_);
  if (!impl_->turn_all()) impl_->look_at_limits();
  return Status::ok;
}

std::size_t Engine::pooled_bytes() const noexcept { return impl_->pool.idle_bytes(); }
void Engine::trim() noexcept { impl_->pool.trim(); }

Request::Request(Request&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), run_(std::exchange(other.run_, nullptr)) {}

Request& Request::operator=(Request&& other) noexcept {
  if (this == &other) return *this;
  if (active()) static_cast<void>(wait());
  engine_ = std::exchange(other.engine_, nullptr);
  run_ = std::exchange(other.run_, nullptr);
  return *this;
}

Request::~Request() {
  if (active()) static_cast<void>(wait());
}

Status Request::test(bool* done, Report* report) noexcept {
  *done = true;
  if (!active()) return Status::ok;
  const Engine::Impl::Visit visit(*engine_->impl_);
  if (!run_->ended() && !engine_->impl_->turn_all()) engine_->impl_->look_at_limits();
  if (!run_->ended()) {
    *done = false;
    return Status::ok;
  }
  engine_ = nullptr;
  return std::exchange(run_, nullptr)->finish(report);
}

Status Request::wait(Report* report) noexcept {
  if (!active()) return Status::ok;
  Engine* engine = std::exchange(engine_, nullptr);
  const Engine::Impl::Visit visit(*engine->impl_);
  return engine->impl_->wait(*std::exchange(run_, nullptr), report);
}

}  // namespace stretto::engine
