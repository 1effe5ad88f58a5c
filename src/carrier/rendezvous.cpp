#include "carrier/rendezvous.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>

#include "base/guarded.hpp"
#include "base/interrupt.hpp"
#include "carrier/rendezvous_text.hpp"

namespace stretto::carrier {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLookEvery = 0.02;
constexpr auto kAskAgainAfter = std::chrono::milliseconds(300);
constexpr auto kNap = std::chrono::milliseconds(1);
constexpr double kLongestWait = 1e9;
constexpr double kGrace = 2;      // seconds beyond its limit to learn from rank 0 who is missing
constexpr double kToConfirm = 1;  // seconds beyond its limit, for ranks that came at its end

std::string random_text() {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = getrandom(bytes.data() + got, bytes.size() - got, 0);
    if (n > 0) got += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR) return {};
  }
  std::string text;
  for (const std::uint8_t b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

class Rendezvous {
 public:
  Rendezvous(Store& store, const Participant& me, double seconds)
      : store_(store),
        prefix_("stretto/" + me.name + "/"),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(std::min(seconds, kLongestWait)))),
        seconds_(seconds) {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host = {"an unknown host"};
    me_ = {me.version, random_text(), me.failure, me.rank, me.size, {host.data(), getpid(), me.address}};
  }

  Status meet(Session* session) {
    if (me_.nonce.empty()) return fail(Status::unsupported, "this process gets no random numbers (getrandom)");
    Status s = store_.set(hello_of(me_.rank), me_.text());
    if (s == Status::ok) s = me_.rank == 0 ? lead() : follow();
    withdraw();
    if (s != Status::ok) return s;
    session->name = prefix_;
    session->id = reply_.id;
    for (std::size_t i = 0; i < session->secret.size(); ++i)
      session->secret[i] = static_cast<std::uint8_t>(std::stoi(reply_.secret.substr(2 * i, 2), nullptr, 16));
    for (Hello& h : reply_.hellos) session->members.push_back(std::move(h.member));
    return s;
  }

 private:
  std::string hello_of(long rank) const { return fmt::format("{}hello/{}", prefix_, rank); }
  std::string of_session(std::string_view what, const std::string& id) const {
    return fmt::format("{}{}/{}", prefix_, what, id);
  }
  std::string ready_in(const std::string& id) const { return fmt::format("{}/{}", of_session("ready", id), me_.rank); }
  bool late(double more = 0) const {
    return Clock::now() >= end_ + std::chrono::milliseconds(static_cast<long>(more * 1e3));
  }

  // Empty after `seconds` without a value. An interrupted wait is an error.
  Status find(const std::string& key, std::optional<std::string>* value, double seconds = 0) {
    std::string text;
    const Status s = store_.get(key, seconds, &text);
    value->reset();
    if (s == Status::timeout && seconds > 0 && interrupted())
      return fail(Status::timeout, "interrupted: rank {} waited for {}", me_.rank, key);
    if (s == Status::timeout) return Status::ok;
    if (s == Status::ok) *value = std::move(text);
    return s;
  }

  // Removes this rank's keys, and those for it alone. Keeps an earlier failure's message.
  void withdraw() {
    const std::string told = message();
    std::optional<std::string> there;
    Hello h;
    if (find(hello_of(me_.rank), &there) == Status::ok && there && Hello::read(*there, &h) && h.nonce == me_.nonce)
      static_cast<void>(store_.remove(hello_of(me_.rank)));
    if (!reply_.id.empty() && me_.rank != 0) static_cast<void>(store_.remove(ready_in(reply_.id)));
    static_cast<void>(fail(Status::ok, told));
  }

  // Another process has this rank's number. Rank 0 refuses all if it is in its session.
  Status taken(const Hello& other) {
    const std::string text = fmt::format("rank {} is both {} and {}", me_.rank, me_.who(), other.who());
    std::string value;
    put(&value, me_.nonce);
    put(&value, other.nonce);
    put(&value, text);
    static_cast<void>(store_.set(prefix_ + "conflict", value));
    return fail(Status::invalid_argument, std::string_view(text));
  }

  Status gather(bool* complete) {
    reply_.hellos.resize(static_cast<std::size_t>(me_.size));
    *complete = true;
    for (long r = 0; r < me_.size; ++r) {
      Hello& h = reply_.hellos[static_cast<std::size_t>(r)];
      std::optional<std::string> there;
      const double wait = h.nonce.empty() && *complete ? kLookEvery : 0;
      if (const Status s = find(hello_of(r), &there, wait); s != Status::ok) return s;
      if (!there) {
        *complete &= !h.nonce.empty();
        continue;
      }
      Hello read;
      if (Hello::read(*there, &read))
        h = std::move(read);
      else
        *complete = false;
    }
    return Status::ok;
  }

  void refuse(Status s, std::string why) {
    if (reply_.status != Status::ok) return;
    reply_.status = s;
    reply_.why = std::move(why);
  }

  void compare() {
    for (long r = 0; r < me_.size; ++r) {
      const Hello& h = reply_.hellos[static_cast<std::size_t>(r)];
      if (h.nonce.empty()) continue;
      if (!h.failure.empty())
        refuse(Status::unsupported, fmt::format("rank {} ({}) cannot take part: {}", r, h.who(), h.failure));
      if (h.version != me_.version)
        refuse(Status::incompatible,
               fmt::format("rank {} ({}) is of stretto {}, rank 0 of {}", r, h.who(), h.version, me_.version));
      if (h.size != me_.size)
        refuse(Status::incompatible,
               fmt::format("rank {} ({}) is one of {} ranks, rank 0 one of {}", r, h.who(), h.size, me_.size));
    }
  }

  std::string missing(const std::vector<bool>& here) const {
    std::string who;
    for (std::size_t r = 0; r < here.size(); ++r)
      if (!here[r]) who += fmt::format("{}{}", who.empty() ? "" : ", ", r);
    return who;
  }

  Status lead() {
    for (;;) {
      reply_.id = random_text();
      reply_.secret = random_text();
      bool complete = false;
      while (!complete && reply_.status == Status::ok) {
        if (const Status s = gather(&complete); s != Status::ok) return s;
        const Hello& own = reply_.hellos.front();
        if (!own.nonce.empty() && own.nonce != me_.nonce) return taken(own);
        if (complete) continue;
        std::this_thread::sleep_for(kNap);  // a store may answer at once
        if (!late()) continue;
        std::vector<bool> here;
        for (const Hello& h : reply_.hellos) here.push_back(!h.nonce.empty());
        refuse(Status::timeout, fmt::format("ranks that did not come within {} s: {}", seconds_, missing(here)));
      }
      if (const Status s = store_.set(prefix_ + "session", reply_.text()); s != Status::ok) return s;
      if (reply_.status != Status::ok) return fail(reply_.status, std::string_view(reply_.why));
      bool confirmed = false;
      if (const Status s = confirm(&confirmed); s != Status::ok || confirmed) return s;
    }
  }

  // *confirmed false: another session is needed.
  Status confirm(bool* confirmed) {
    std::vector<bool> ready(static_cast<std::size_t>(me_.size), false);
    ready.front() = true;
    const std::vector<Hello> used = reply_.hellos;
    for (auto next = Clock::now() + kAskAgainAfter;;) {
      bool waited = false;
      for (std::size_t r = 0; r < ready.size(); ++r) {
        if (ready[r]) continue;
        std::optional<std::string> there;
        const std::string key = fmt::format("{}/{}", of_session("ready", reply_.id), r);
        if (const Status s = find(key, &there, waited ? 0 : kLookEvery); s != Status::ok) return s;
        ready[r] = there.has_value();
        waited |= !ready[r];
      }
      std::optional<std::string> conflict;
      if (const Status s = find(prefix_ + "conflict", &conflict); s != Status::ok) return s;
      if (conflict) {
        std::string_view from(*conflict);
        std::string one, other, text;
        const bool ours =
            take(&from, &one) && take(&from, &other) && take(&from, &text) &&
            std::any_of(used.begin(), used.end(), [&](const Hello& h) { return h.nonce == one || h.nonce == other; });
        static_cast<void>(store_.remove(prefix_ + "conflict"));
        if (ours) return say_go(Status::invalid_argument, text);
      }
      if (std::all_of(ready.begin(), ready.end(), [](bool r) { return r; })) {
        *confirmed = true;
        compare();  // earlier differences may be an earlier program's
        return say_go(reply_.status, reply_.why);
      }
      if (late(kToConfirm))
        return say_go(Status::timeout,
                      fmt::format("ranks that did not come within {} s: {}", seconds_, missing(ready)));
      std::this_thread::sleep_for(kNap);
      if (Clock::now() < next) continue;
      next = Clock::now() + kAskAgainAfter;
      bool complete = false;
      if (const Status s = gather(&complete); s != Status::ok) return s;
      for (std::size_t r = 0; r < used.size(); ++r)
        if (reply_.hellos[r].nonce != used[r].nonce) return Status::ok;
    }
  }

  Status say_go(Status s, const std::string& why) {
    std::string value;
    put(&value, static_cast<long>(s));
    put(&value, why);
    if (const Status t = store_.set(of_session("go", reply_.id), value); t != Status::ok) return t;
    return s == Status::ok ? s : fail(s, std::string_view(why));
  }

  Status follow() {
    std::string joined;
    auto next = Clock::now();
    std::size_t others = 0;
    for (;;) {
      std::optional<std::string> there;
      const bool reads = joined.empty() || Clock::now() >= next;  // a joined session is seldom given up
      if (reads) {
        next = Clock::now() + kAskAgainAfter;
        if (const Status s = find(prefix_ + "session", &there, kLookEvery); s != Status::ok) return s;
      }
      SessionReply v;
      const bool found =
          there && SessionReply::read(*there, &v) && v.hellos.size() > static_cast<std::size_t>(me_.rank);
      if (there && !found && !v.hellos.empty()) others = v.hellos.size();
      const std::string nonce = found ? v.hellos[static_cast<std::size_t>(me_.rank)].nonce : std::string();
      if (found && nonce == me_.nonce) {
        if (v.status != Status::ok) return fail(v.status, std::string_view(v.why));
        if (v.id != joined) {
          if (!joined.empty()) static_cast<void>(store_.remove(ready_in(joined)));
          joined = v.id;
          reply_ = std::move(v);
          if (const Status s = store_.set(ready_in(joined), me_.nonce); s != Status::ok) return s;
        }
      }
      if (!joined.empty()) {
        std::optional<std::string> go;
        if (const Status s = find(of_session("go", joined), &go, kLookEvery); s != Status::ok) return s;
        if (go) return told(*go);
      }
      if (const Status s = look_for_another(); s != Status::ok) return s;
      if (!late(kGrace)) {
        std::this_thread::sleep_for(kNap);
        continue;
      }
      if (others > 0)
        return fail(Status::incompatible, "rank 0 is one of {} ranks, this is rank {} of {}", others, me_.rank,
                    me_.size);
      return fail(Status::timeout, "rank 0 did not begin, or end, within {} s; this is rank {} of {}", seconds_,
                  me_.rank, me_.size);
    }
  }

  static Status told(std::string_view go) {
    long status = 0;
    std::string why;
    const std::string_view whole = go;
    if (!take(&go, &status) || !take(&go, &why) || status < 0 || status > static_cast<long>(Status::internal))
      return fail(Status::internal, "rank 0 said '{}'", whole);
    return status == 0 ? Status::ok : fail(static_cast<Status>(status), std::string_view(why));
  }

  Status look_for_another() {
    std::optional<std::string> there;
    if (const Status s = find(hello_of(me_.rank), &there); s != Status::ok) return s;
    Hello h;
    if (there && Hello::read(*there, &h) && h.nonce != me_.nonce) return taken(h);
    return Status::ok;
  }

  Store& store_;
  const std::string prefix_;
  const Clock::time_point end_;
  const double seconds_;
  Hello me_;
  SessionReply reply_;
};

}  // namespace

Status meet_in(Store& store, const Participant& me, double seconds, Session* session) noexcept {
  if (me.size < 1 || me.rank < 0 || me.rank >= me.size)
    return fail(Status::invalid_argument, "rank {} of {} ranks", me.rank, me.size);
  return guarded("to meet in a store", [&] { return Rendezvous(store, me, seconds).meet(session); });
}

void clean_up(Store& store, const Session& session) noexcept {
  static_cast<void>(attempt([&] {  // nonces tell what is left from fresh keys
    static_cast<void>(store.remove(session.name + "session"));
    static_cast<void>(store.remove(session.name + "go/" + session.id));
  }));
}

}  // namespace stretto::carrier
