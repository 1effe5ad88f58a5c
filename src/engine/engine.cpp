#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/guarded.hpp"
#include "base/interrupt.hpp"
#include "base/retained.hpp"
#include "base/waiting.hpp"
#include "engine/run.hpp"
#include "engine/short_rounds.hpp"
#include "engine/words.hpp"

namespace stretto::engine {
namespace {

// Units between polls of the carrier, since codec work is long.
constexpr int kTurn = 2;

// Seconds: limits are checked between waits.
constexpr double kLookEvery = 0.05;

// Seconds with other communicators, whose peers may wait for this rank. Doubles until something moves there.
constexpr double kFirstBeside = 1e-3;

// Seconds to wait for another rank's alarm after a transport error.
constexpr double kAlarmPatience = 0.2;

// Seconds to wait for the answer of a missing rank, which listens every `kLookEvery` where it waits itself.
constexpr double kAnswerPatience = 1;

// Seconds between checks while the host spins for a device.
constexpr double kLeastBetweenLooks = 1e-3;

constexpr std::uint64_t kNoneEnds = ~std::uint64_t{0};

double seconds_since(Clock::time_point t) noexcept { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct RetainedBuffers {
  std::vector<payload::Buffer> buffers;
  RetainedBuffers* next = nullptr;
};

void leave_for_ever(std::vector<payload::Buffer> buffers) noexcept {
  std::unique_ptr<RetainedBuffers> left(new (std::nothrow) RetainedBuffers);
  if (!left) return;
  left->buffers = std::move(buffers);
  retain(std::move(left));
}

class Cause {
 public:
  Cause() noexcept { copy_message(text_); }
  const char* text() const noexcept { return text_.data(); }

 private:
  std::array<char, sizeof(carrier::Alarm::text)> text_{};
};

struct Round {
  const ShortRounds& rounds;
  const ShortRun& run;

  std::uint64_t sequence() const noexcept { return run.number; }
  int missing() const noexcept { return rounds.missing(); }
  std::string diagnosis() const {
    static_cast<void>(rounds.overdue(run));
    return message();
  }
};

}  // namespace

struct Engine::Impl {
  explicit Impl(carrier::Carrier& c) : carrier(c), tags(c.tags()) {}

  ~Impl() {
    for (auto& run : runs) {
      if (!run->active()) continue;
      run->give_up(Status::invalid_argument, "the engine was destroyed", &lost);
      static_cast<void>(run->finish(nullptr));
    }
    for (auto& run : words)
      if (run->active()) run->give_up(Status::invalid_argument, "the engine was destroyed");
    if (!lost.empty()) leave_for_ever(std::move(lost));
  }

  carrier::Carrier& carrier;
  const Tags tags;
  payload::Pool pool;
  std::vector<payload::Buffer> lost;
  std::vector<std::unique_ptr<Run>> runs;
  std::vector<std::unique_ptr<WordRun>> words;
  std::vector<WordStep> word_steps;
  std::uint64_t sequence = 0;
  Clock::time_point left = Clock::now();
  Clock::time_point listened = Clock::now();
  std::uint64_t moves = 0;
  Lanes lanes;
  Driven* others = nullptr;
  const codec::Parallel* parallel = nullptr;

  // Runs from this number on neither start nor continue.
  std::uint64_t end = kNoneEnds;
  Status end_status = Status::ok;
  std::array<char, sizeof(carrier::Alarm::text)> why{};
  std::uint64_t told = kNoneEnds;  // `end`, as others know it
  bool raised = false;

  // A call into the engine. Limits exclude the caller's work between calls.
  class Visit {
   public:
    explicit Visit(Impl& impl) noexcept : impl_(impl) {
      const auto away = Clock::now() - impl.left;
      for (auto& run : impl.runs) {
        if (run->active()) run->pause(away);
      }
      for (auto& run : impl.words)
        if (run->active()) run->pause(away);
    }
    ~Visit() { impl_.left = Clock::now(); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Impl& impl_;
  };

  Status start(const Work& call, std::uint64_t number, Run** started) noexcept;
  Status start(const Words& words, WordRun** started) noexcept;
  Status begin(const Work& call, std::uint64_t mine, Run** started) noexcept;
  void end_from(std::uint64_t from, Status status, const char* text) noexcept;
  void tell(std::uint64_t from, Status status, const char* text) noexcept;
  bool answer(carrier::Alarm* alarm) noexcept;
  bool hear_from_missing(carrier::Alarm* alarm, std::vector<carrier::Alarm>* others) noexcept;
  void find_cause(carrier::Alarm* alarm) noexcept;
  void end_for(const carrier::Alarm& alarm) noexcept;
  std::string own_call(const carrier::Alarm& alarm) const noexcept;
  void listen() noexcept;
  void listen_for_cause() noexcept;
  void compare_calls() noexcept;
  bool may_go(const Run& run) const noexcept;
  bool may_go(const WordRun& run) const noexcept;
  void tell_if_stranded(const WordRun& run) noexcept;
  bool turn_all(Lanes taken, bool fetched = false) noexcept;
  std::size_t fetch(double seconds) noexcept;
  std::size_t fetch_crossed() noexcept;
  void complete(const carrier::Completion& done) noexcept;
  void complete_words(std::size_t slot, const carrier::Completion& done) noexcept;
  void order_crossings() noexcept;
  void look_at_limits() noexcept;
  template <class Any>
  carrier::Alarm timeout_of(const Any& run, std::uint64_t from) const noexcept;
  template <class Any>
  void overdue(const Any& run) noexcept;
  template <class Any>
  void interrupt(const Any& run) noexcept;
  Status wait(Run& run, Report* report) noexcept;
  Status wait(WordRun& run, Report* report) noexcept;
  Status finish(Run& run, Report* report) noexcept;
  Status exchange(const ShortRun& run, std::span<const ShortMessage> messages) noexcept;
  Status compare(const ShortRun& run) noexcept;

  ShortRounds rounds{carrier, tags};
  const ShortRun* round = nullptr;
};

Status Engine::Impl::start(const Work& call, std::uint64_t number, Run** started) noexcept {
  // Refused runs count, for equal numbers on all ranks.
  const std::uint64_t mine = number == kNext ? sequence++ : number;
  if (mine >= end) return fail(end_status, "this communicator is not usable any more: {}", why.data());
  if (const Status s = Run::check(call, carrier); s != Status::ok) return s;
  const Status s = begin(call, mine, started);
  if (s != Status::ok) tell(mine, s, message());  // others have begun the run
  return s;
}

Status Engine::Impl::begin(const Work& call, std::uint64_t mine, Run** started) noexcept {
  return guarded({"to plan a collective of {} blocks", call.blocks.size()}, [&] {
    std::size_t slot = 0;
    while (slot < runs.size() && runs[slot]->active()) ++slot;
    if (slot == runs.size()) runs.push_back(std::make_unique<Run>());
    Run& run = *runs[slot];
    *started = &run;
    const Status s = run.begin(call, carrier, pool, parallel, static_cast<std::uint32_t>(slot), mine);
    if (s == Status::ok && may_go(run)) run.go();
    if (s != Status::ok || !run.stranded()) return s;
    run.give_up(run.status(), "", &lost);
    return run.finish(nullptr);
  });
}

Status Engine::Impl::start(const Words& call, WordRun** started) noexcept {
  const std::uint64_t mine = sequence++;
  if (mine >= end) return fail(end_status, "this communicator is not usable any more: {}", why.data());
  const Status s = guarded("for the messages of an agreement", [&] {
    std::size_t slot = 0;
    while (slot < words.size() && words[slot]->active()) ++slot;
    if (slot == WordRun::kMostSlots) throw std::bad_alloc();
    if (slot == words.size()) words.push_back(std::make_unique<WordRun>());
    words[slot]->begin(call, word_steps, carrier, WordRun::kFirstSlot + static_cast<std::uint32_t>(slot), mine);
    *started = words[slot].get();
  });
  if (s != Status::ok) {
    tell(mine, s, Cause().text());
    return s;
  }
  if (may_go(**started)) (*started)->go();
  tell_if_stranded(**started);
  return Status::ok;
}

void Engine::Impl::tell_if_stranded(const WordRun& run) noexcept {
  if (run.active() && run.stranded()) tell(run.sequence(), run.status(), run.text());
}

void Engine::Impl::end_from(std::uint64_t from, Status status, const char* text) noexcept {
  if (end == kNoneEnds) {
    end_status = status;
    copy_text(text, why);
  }
  end = std::min(end, from);
  for (auto& run : runs) {
    if (run->active() && !run->ended() && run->sequence() >= from) run->give_up(status, text, &lost);
  }
  for (auto& run : words) {
    const bool ends = !run->ended() || run->stranded();  // a stranded run's transfers are in flight
    if (run->active() && ends && run->sequence() >= from) run->give_up(status, text);
  }
}

// A second alarm ends all runs: no third is needed.
void Engine::Impl::tell(std::uint64_t from, Status status, const char* text) noexcept {
  static_assert(carrier::kMostAlarms == 2);
  const bool news = from < told;
  for (const auto& run : runs) {
    if (news && raised && run->active() && !run->ended()) from = std::min(from, run->sequence());
  }
  for (const auto& run : words) {  // signatures may follow ended ones
    if (news && raised && run->active()) from = std::min(from, run->sequence());
  }
  carrier::Alarm alarm;
  alarm.rank = carrier.rank();
  alarm.status = status;
  alarm.from = from;
  copy_text(*text != 0 ? text : name(status), alarm.text);
  end_from(from, status, alarm.text.data());
  if (!news) return;
  told = from;
  raised = true;
  carrier.raise(alarm);
}

std::string Engine::Impl::own_call(const carrier::Alarm& alarm) const noexcept {
  const auto own = std::find_if(runs.begin(), runs.end(), [&](const auto& run) {
    return run->active() && !run->ended() && run->sequence() == alarm.from;
  });
  if (alarm.status != Status::incompatible || own == runs.end()) return {};
  return value_or(std::string(), [&] { return "; here " + (*own)->what_runs(); });
}

void Engine::Impl::listen() noexcept {
  listened = Clock::now();
  carrier::Alarm alarm;
  while (carrier.hear(&alarm)) {
    if (alarm.from < end) find_cause(&alarm);
    told = std::min(told, alarm.from);
    end_for(alarm);
  }
}

void Engine::Impl::end_for(const carrier::Alarm& alarm) noexcept {
  if (alarm.rank == carrier.rank()) return end_from(alarm.from, alarm.status, alarm.text.data());
  static_cast<void>(fail(alarm.status, "rank {} gave up: {}{}", alarm.rank, alarm.text.data(), own_call(alarm)));
  end_from(alarm.from, alarm.status, Cause().text());
}

// A rank that others miss names the rank that it misses itself, once, and *alarm becomes this rank's. False: it waits
// for no rank.
bool Engine::Impl::answer(carrier::Alarm* alarm) noexcept {
  std::uint64_t earliest = kNoneEnds;
  carrier::Alarm own;
  const auto look = [&](const auto& run) {
    if (run.missing() < 0 || run.sequence() >= earliest) return;
    earliest = run.sequence();
    own = timeout_of(run, alarm->from);
  };
  for (const auto& run : runs)
    if (run->active() && !run->ended()) look(*run);
  for (const auto& run : words)
    if (run->active() && !run->ended()) look(*run);
  if (round != nullptr) look(Round{rounds, *round});
  if (earliest == kNoneEnds) return false;
  if (!raised) {
    raised = true;
    told = std::min(told, own.from);
    carrier.raise(own);
  }
  *alarm = own;
  return true;
}

// Replaces *alarm by that of the rank that it misses, or by one that is no timeout. `others`: alarms that came
// meanwhile. Those that miss this rank are answered, as their ranks wait no longer than this one does.
bool Engine::Impl::hear_from_missing(carrier::Alarm* alarm, std::vector<carrier::Alarm>* others) noexcept {
  const auto is_it = [&](const carrier::Alarm& a) { return a.rank == alarm->missing || a.status != Status::timeout; };
  const auto known = std::find_if(others->begin(), others->end(), is_it);
  carrier::Alarm heard;
  bool found = known != others->end();
  if (found) heard = *known;
  const Clock::time_point begun = Clock::now();
  for (Waiting waiting(true); !found && seconds_since(begun) < kAnswerPatience;) {
    if (!carrier.hear(&heard)) {
      waiting.rest();
      continue;
    }
    found = is_it(heard);
    alarm->from = std::min(alarm->from, heard.from);
    if (found) continue;
    static_cast<void>(attempt([&] { others->push_back(heard); }));
    if (heard.missing == carrier.rank()) static_cast<void>(answer(&heard));
  }
  heard.from = std::min(alarm->from, heard.from);
  if (found) *alarm = heard;
  return found;
}

// A missing rank may wait for another: the last of the chain is the cause. In a circle each rank names the rank that it
// misses.
void Engine::Impl::find_cause(carrier::Alarm* alarm) noexcept {
  if (carrier.size() <= 2) return;
  const carrier::Alarm first = *alarm;
  carrier::Alarm own = first;
  std::vector<carrier::Alarm> others;
  bool waits = first.rank == carrier.rank();
  for (int links = 0; links <= carrier.size(); ++links) {
    if (alarm->status != Status::timeout || alarm->missing < 0) return;
    if (alarm->missing == first.rank || (waits && alarm->missing == carrier.rank())) {
      own.from = alarm->from;
      *alarm = own;
      return;
    }
    const bool asked = alarm->missing == carrier.rank();
    if (!(asked ? answer(alarm) : hear_from_missing(alarm, &others))) return;
    if (asked) own = *alarm;
    waits = waits || asked;
  }
}

// A rank that gave up may have freed values that this rank reads in place. Its alarm tells more than the transport's
// error.
void Engine::Impl::listen_for_cause() noexcept {
  const Clock::time_point begun = Clock::now();
  const std::uint64_t before = told;
  Waiting waiting(true);
  for (listen(); told == before && seconds_since(begun) < kAlarmPatience; listen()) waiting.rest();
}

void Engine::Impl::compare_calls() noexcept {
  for (const auto& run : runs) {
    if (!run->active() || run->ended() || !run->going()) continue;
    if (run->compare_calls() == Status::ok) continue;
    // Completions may have arrived, and a poll sees only some.
    while (!run->ended() && fetch(1e-3) > 0) {
    }
    const Status s = run->ended() ? Status::ok : run->compare_calls();
    if (s == Status::ok) continue;
    tell(run->sequence(), s, Cause().text());
  }
}

// Concurrent runs need different tags.
bool Engine::Impl::may_go(const Run& run) const noexcept {
  return std::none_of(runs.begin(), runs.end(), [&](const auto& other) {
    return other->active() && !other->ended() && other->sequence() + tags.runs() <= run.sequence();
  });
}

// A peer starts words only once its own of half a lap before have ended, which takes this rank's part in them: messages
// of two laps never meet.
bool Engine::Impl::may_go(const WordRun& run) const noexcept {
  const auto holds_up = [&](const auto& other) {
    return other->active() && !other->ended() && other->sequence() + tags.runs() / 2 <= run.sequence();
  };
  return std::none_of(runs.begin(), runs.end(), holds_up) && std::none_of(words.begin(), words.end(), holds_up);
}

std::size_t Engine::Impl::fetch(double seconds) noexcept {
  const std::size_t crossed = fetch_crossed();
  std::array<carrier::Completion, 64> done;
  std::size_t n = 0;
  if (crossed > 0) seconds = 0;
  if (const Status s = carrier.wait_any(done, &n, seconds); s != Status::ok) {
    const Cause cause;
    listen_for_cause();
    tell(0, s, cause.text());
    return 0;
  }
  const auto fails = [](const carrier::Completion& c) { return c.status == Status::mpi_error; };
  if (std::any_of(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(n), fails)) listen_for_cause();
  for (std::size_t i = 0; i < n; ++i) complete(done[i]);
  return n + crossed;
}

void Engine::Impl::complete(const carrier::Completion& done) noexcept {
  const auto slot = static_cast<std::size_t>(done.id >> 32);
  if (slot == ShortRounds::kSlot)
    rounds.complete(static_cast<std::uint32_t>(done.id), done);
  else if (slot >= WordRun::kFirstSlot)
    complete_words(slot - WordRun::kFirstSlot, done);
  else if (slot < runs.size() && runs[slot]->active() && !runs[slot]->ended())
    runs[slot]->complete(static_cast<std::uint32_t>(done.id), done);
}

void Engine::Impl::complete_words(std::size_t slot, const carrier::Completion& done) noexcept {
  if (slot >= words.size() || !words[slot]->active()) return;
  words[slot]->complete(static_cast<std::uint32_t>(done.id), done);
  tell_if_stranded(*words[slot]);
}

// Runs share their carrier, so one may fetch another's messages.
std::size_t Engine::Impl::fetch_crossed() noexcept {
  std::array<carrier::Completion, 64> done;
  std::size_t all = 0;
  for (const auto& run : runs) {
    if (!run->active() || run->ended()) continue;
    std::size_t n = 0;
    run->poll_crossings(done, &n);
    for (std::size_t i = 0; i < n; ++i) complete(done[i]);
    all += n;
  }
  return all;
}

// In the order of runs, equal on all ranks.
void Engine::Impl::order_crossings() noexcept {
  std::uint64_t first = kNoneEnds;
  for (const auto& run : runs) {
    if (run->active() && !run->ended() && run->crosses()) first = std::min(first, run->sequence());
  }
  for (const auto& run : runs) run->may_cross(run->sequence() <= first);
}

// Polls unless the caller has `fetched` some, then progresses every run. True if anything happened. An MPI may give the
// core away in each poll, so a message is answered before the next poll.
bool Engine::Impl::turn_all(Lanes taken, bool fetched) noexcept {
  bool some = fetched || fetch(0) > 0, held = false;
  for (auto& run : words) {
    if (!run->active() || run->ended() || run->going()) continue;
    if (!may_go(*run)) {
      held = true;
      continue;
    }
    run->go();
    tell_if_stranded(*run);
    some = true;
  }
  for (auto& run : runs) {
    if (!run->active() || run->ended()) continue;
    if (!run->going() && may_go(*run)) run->go();
    held = held || !run->going();
    order_crossings();
    some = run->advance(kTurn, taken) || some;
  }
  if (some) ++moves;
  if (!held || !some) return some;
  for (auto& run : runs) {
    if (run->active() && !run->ended() && !run->going()) run->waits_for_others();
  }
  for (auto& run : words) {
    if (run->active() && !run->ended() && !run->going()) run->waits_for_others();
  }
  return true;
}

template <class Any>
carrier::Alarm Engine::Impl::timeout_of(const Any& run, std::uint64_t from) const noexcept {
  carrier::Alarm alarm;
  alarm.rank = carrier.rank();
  alarm.status = Status::timeout;
  alarm.from = from;
  alarm.missing = run.missing();
  if (!attempt([&] { copy_text(run.diagnosis(), alarm.text); }))
    copy_text("a peer is silent (no memory to say which)", alarm.text);
  return alarm;
}

template <class Any>
void Engine::Impl::overdue(const Any& run) noexcept {
  carrier::Alarm alarm = timeout_of(run, run.sequence());
  if (carrier.size() > 2 && alarm.missing >= 0 && !raised && alarm.from < told) {
    raised = true;
    told = alarm.from;
    carrier.raise(alarm);
  }
  find_cause(&alarm);
  end_for(alarm);
}

template <class Any>
void Engine::Impl::interrupt(const Any& run) noexcept {
  if (!attempt([&] { tell(run.sequence(), Status::timeout, ("interrupted in " + run.what_runs()).c_str()); }))
    tell(run.sequence(), Status::timeout, "interrupted");
}

void Engine::Impl::look_at_limits() noexcept {
  const auto now = Clock::now();
  const auto open = [](const auto& run) { return run.active() && !run.ended(); };
  if (std::chrono::duration<double>(now - listened).count() >= kLookEvery) {
    listen();
    compare_calls();
  }
  for (auto& run : runs) {
    if (open(*run) && run->stranded()) tell(run->sequence(), run->status(), run->text());
    if (open(*run) && run->overdue(now)) {
      listen();  // another rank may know the cause
      compare_calls();
      if (open(*run)) overdue(*run);
    }
  }
  for (auto& run : words) {
    if (!open(*run) || !run->overdue(now)) continue;
    listen();
    if (open(*run)) overdue(*run);
  }
}

Status Engine::Impl::wait(Run& run, Report* report) noexcept {
  double longest = others != nullptr ? kFirstBeside : kLookEvery;
  Waiting device_waiting(true);  // nothing wakes a host that waits for a device
  double looked = 0;
  bool fetched = false;
  while (!run.ended()) {
    if (turn_all({}, std::exchange(fetched, false))) {
      device_waiting.reset();
      continue;
    }
    if (run.ended()) break;
    const auto begin = Clock::now();
    const double limit = run.timeout() > 0 ? std::min(longest, run.timeout()) : longest;
    const double now = Waiting::clock();
    const std::size_t n = fetch(run.polls() ? device_waiting.next(now) : limit);
    run.waited(seconds_since(begin));
    if (n > 0) {
      device_waiting.reset();
      fetched = true;
      continue;
    }
    if (others != nullptr) longest = others->drive() ? 0 : std::clamp(2 * longest, kFirstBeside, kLookEvery);
    if (now - looked < kLeastBetweenLooks) continue;
    looked = now;
    look_at_limits();
    if (!run.ended() && interrupted()) interrupt(run);
  }
  return finish(run, report);
}

Status Engine::Impl::wait(WordRun& run, Report* report) noexcept {
  double longest = others != nullptr ? kFirstBeside : kLookEvery;
  bool fetched = false, moves_runs = false;
  while (!run.ended()) {
    const double most = moves_runs ? 0 : longest;
    if (fetch(run.timeout() > 0 ? std::min(most, run.timeout()) : most) > 0) {
      fetched = true;
      continue;
    }
    moves_runs = turn_all({}, std::exchange(fetched, false));
    if (others != nullptr) longest = others->drive() ? 0 : std::clamp(2 * longest, kFirstBeside, kLookEvery);
    if (seconds_since(listened) >= kLookEvery || run.overdue(Clock::now())) look_at_limits();
    if (!run.ended() && interrupted()) interrupt(run);
  }
  return run.finish(report);
}

Status Engine::Impl::finish(Run& run, Report* report) noexcept {
  if (run.stranded()) tell(run.sequence(), run.status(), run.text());
  return run.finish(report);
}

Status Engine::Impl::exchange(const ShortRun& run, std::span<const ShortMessage> messages) noexcept {
  if (run.number >= end) return fail(end_status, "{}", why.data());
  Status s = rounds.begin(run, messages);
  round = &run;
  const Clock::time_point begun = Clock::now();
  double longest = others != nullptr ? kFirstBeside : kLookEvery;
  bool fetched = false, moves_runs = false;
  const auto goes_on = [&] { return s == Status::ok && run.number < end && rounds.open() && !rounds.failed(); };
  while (goes_on()) {
    const double most = moves_runs ? 0 : longest;
    if (fetch(run.timeout > 0 ? std::min(most, run.timeout) : most) > 0) {
      fetched = true;
      continue;
    }
    moves_runs = turn_all({}, std::exchange(fetched, false));
    if (others != nullptr) longest = others->drive() ? 0 : std::clamp(2 * longest, kFirstBeside, kLookEvery);
    const bool late = run.timeout > 0 && seconds_since(begun) >= run.timeout;
    if (late || seconds_since(listened) >= kLookEvery) {
      if (late) listen();
      look_at_limits();
      s = compare(run);
    }
    if (goes_on() && late) {
      overdue(Round{rounds, run});
    } else if (goes_on() && interrupted()) {
      s = fail(Status::timeout, "interrupted in {}", run.what);
    }
  }
  round = nullptr;
  if (s == Status::ok) s = rounds.status();
  if (s != Status::ok) tell(run.number, s, Cause().text());
  if (run.number < end) return Status::ok;
  rounds.withdraw();
  return fail(end_status, "{}", why.data());
}

Status Engine::Impl::compare(const ShortRun& run) noexcept {
  if (run.number >= end || rounds.compare(run) == Status::ok) return Status::ok;
  while (rounds.open() && fetch(1e-3) > 0) {
  }
  return run.number < end ? rounds.compare(run) : Status::ok;
}

Engine::Engine(carrier::Carrier& carrier) : impl_(std::make_unique<Impl>(carrier)) {}
Engine::~Engine() = default;

carrier::Carrier& Engine::carrier() noexcept { return impl_->carrier; }

void Engine::drive_beside(Driven& others) noexcept { impl_->others = &others; }

void Engine::share_codec(const codec::Parallel* parallel) noexcept { impl_->parallel = parallel; }

Status Engine::run(const Work& call, Report* report) noexcept {
  const Impl::Visit visit(*impl_);
  Run* run = nullptr;
  if (const Status s = impl_->start(call, kNext, &run); s != Status::ok) return s;
  return impl_->wait(*run, report);
}

Status Engine::start(const Work& call, Request* request, std::uint64_t number) noexcept {
  const Impl::Visit visit(*impl_);
  Run* run = nullptr;
  if (const Status s = impl_->start(call, number, &run); s != Status::ok) return s;
  *request = Request{};
  request->engine_ = this;
  request->run_ = run;
  run->advance(kTurn, impl_->lanes);
  return Status::ok;
}

Status Engine::start(const Words& words, Request* request) noexcept {
  if (words.load.bytes > schedule::kLongestShortCall)
    return fail(Status::internal, "{} bytes travel with no word", words.load.bytes);
  const Impl::Visit visit(*impl_);
  WordRun* run = nullptr;
  if (const Status s = impl_->start(words, &run); s != Status::ok) return s;
  *request = Request{};
  request->engine_ = this;
  request->words_ = run;
  return Status::ok;
}

void Engine::route_words(const schedule::Groups& groups) {
  impl_->word_steps = word_steps(groups, impl_->carrier.rank());
}

std::uint64_t Engine::latest() const noexcept { return impl_->sequence - 1; }

void Engine::take(Lanes lanes) noexcept { impl_->lanes = lanes; }

std::uint64_t Engine::moves() const noexcept { return impl_->moves; }

Status Engine::progress() noexcept {
  const Impl::Visit visit(*impl_);
  if (!impl_->turn_all(impl_->lanes)) impl_->look_at_limits();
  return Status::ok;
}

void Engine::give_up(Status status, const char* why, std::uint64_t from) noexcept {
  impl_->listen();
  impl_->tell(std::min({from, impl_->end, impl_->sequence}), status, why);
}

Status Engine::exchange(const ShortRun& run, std::span<const ShortMessage> messages) noexcept {
  const Impl::Visit visit(*impl_);
  return impl_->exchange(run, messages);
}

bool Engine::broken() const noexcept { return impl_->end != kNoneEnds; }

std::uint64_t Engine::pass() noexcept { return impl_->sequence++; }

Status Engine::usable(std::uint64_t number) noexcept {
  if (seconds_since(impl_->listened) >= kLookEvery) impl_->listen();
  return number < impl_->end ? Status::ok : fail(impl_->end_status, "{}", impl_->why.data());
}

std::size_t Engine::pooled_bytes() const noexcept { return impl_->pool.idle_bytes(); }
void Engine::trim() noexcept {
  impl_->pool.trim();
  for (auto& run : impl_->words)
    if (!run->active()) run->trim();
}

Request::Request(Request&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)),
      run_(std::exchange(other.run_, nullptr)),
      words_(std::exchange(other.words_, nullptr)) {}

Request& Request::operator=(Request&& other) noexcept {
  if (this == &other) return *this;
  if (active()) static_cast<void>(wait());
  engine_ = std::exchange(other.engine_, nullptr);
  run_ = std::exchange(other.run_, nullptr);
  words_ = std::exchange(other.words_, nullptr);
  return *this;
}

bool Request::leads() const noexcept { return run_ != nullptr && run_->leads(); }

Request::~Request() {
  if (active()) static_cast<void>(wait());
}

Status Request::test(bool* done, Report* report) noexcept {
  *done = true;
  if (!active()) return Status::ok;
  const Engine::Impl::Visit visit(*engine_->impl_);
  const auto ended = [this] { return words_ != nullptr ? words_->ended() : run_->ended(); };
  if (!ended() && !engine_->impl_->turn_all(engine_->impl_->lanes)) engine_->impl_->look_at_limits();
  if (!ended()) {
    *done = false;
    return Status::ok;
  }
  Engine* engine = std::exchange(engine_, nullptr);
  if (words_ != nullptr) return std::exchange(words_, nullptr)->finish(report);
  return engine->impl_->finish(*std::exchange(run_, nullptr), report);
}

Status Request::wait(Report* report) noexcept {
  if (!active()) return Status::ok;
  Engine* engine = std::exchange(engine_, nullptr);
  const Engine::Impl::Visit visit(*engine->impl_);
  if (words_ != nullptr) return engine->impl_->wait(*std::exchange(words_, nullptr), report);
  return engine->impl_->wait(*std::exchange(run_, nullptr), report);
}

}  // namespace stretto::engine
