#include "engine/words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/retained.hpp"
#include "engine/engine.hpp"
#include "payload/arithmetic/arithmetic.hpp"

namespace stretto::engine {
namespace {

// The first 2 * pairs groups take part as pairs.
void add_doubling(const schedule::Groups& groups, std::size_t here, std::vector<WordStep>* steps) {
  using Kind = WordStep::Kind;
  const std::size_t all = groups.members.size(), even = std::bit_floor(all), pairs = all - even;
  const auto rank_at = [&](std::size_t group) { return groups.members[group].front(); };
  const bool paired = here < 2 * pairs;
  if (paired && here % 2 == 0) {
    steps->push_back({Kind::ask, rank_at(here + 1)});
    return;
  }
  if (paired) steps->push_back({Kind::take, rank_at(here - 1), true});
  const std::size_t place = paired ? here / 2 : here - pairs;
  for (std::size_t bit = 1; bit < even; bit *= 2) {
    const std::size_t p = place ^ bit;
    steps->push_back({Kind::swap, rank_at(p < pairs ? 2 * p + 1 : p + pairs), p < place});
  }
  if (paired) steps->push_back({Kind::give, rank_at(here - 1)});
}

}  // namespace

std::vector<WordStep> word_steps(const schedule::Groups& groups, int rank) {
  using Kind = WordStep::Kind;
  std::vector<WordStep> steps;
  const auto group = static_cast<std::size_t>(groups.group_of[static_cast<std::size_t>(rank)]);
  const std::vector<std::int32_t>& members = groups.members[group];
  const auto me = static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  std::size_t bit = 1;
  for (; bit < members.size() && (me & bit) == 0; bit *= 2)
    if (me + bit < members.size()) steps.push_back({Kind::take, members[me + bit]});
  if (me > 0)
    steps.push_back({Kind::ask, members[me - bit]});
  else
    add_doubling(groups, group, &steps);
  while ((bit /= 2) > 0)
    if (me + bit < members.size()) steps.push_back({Kind::give, members[me + bit]});
  return steps;
}

void WordRun::begin(const Words& words, const std::vector<WordStep>& steps, carrier::Carrier& carrier,
                    std::uint32_t slot, std::uint64_t sequence) {
  if (!rooms_) rooms_ = std::make_unique<Rooms>();
  open_of_.assign(2 * steps.size(), 0);
  words_ = words;
  steps_ = &steps;
  carrier_ = &carrier;
  tag_ = Tags(carrier.tags()).word(sequence);
  slot_ = slot;
  sequence_ = sequence;
  going_ = stranded_ = false;
  at_ = open_ = own_ = 0;
  bytes_sent_ = messages_sent_ = 0;
  status_ = Status::ok;
  text_ = {};
  begun_ = moved_ = Clock::now();
  own().word = words.word;
  own().bytes = 0;
  if (words.word != 0 && words.load.gives(carrier.rank())) {
    own().bytes = words.load.bytes;
    std::memcpy(own().data.data(), words.load.in, words.load.bytes);
  }
  if (words.same != nullptr) *words.same = false;
  active_ = true;
}

void WordRun::go() noexcept {
  going_ = true;
  moved_ = Clock::now();
  if (!steps_->empty()) post();
  advance();
}

// A receive that waits spares a copy.
void WordRun::post() noexcept {
  const bool takes = (*steps_)[at_].kind != WordStep::Kind::give, gives = (*steps_)[at_].kind != WordStep::Kind::take;
  if (takes) receive(at_);
  if (gives && status_ == Status::ok) send(at_);
}

void WordRun::started(Status s, std::uint32_t transfer) noexcept {
  if (s != Status::ok) {
    strand(s);
    return;
  }
  open_of_[transfer] = 1;
  ++open_;
}

void WordRun::send(std::size_t step) noexcept {
  if (own().bytes > 0) {
    bytes_sent_ += own().bytes;
    ++messages_sent_;
  }
  const auto transfer = static_cast<std::uint32_t>(2 * step + 1);
  const std::size_t bytes = kHead + own().bytes;
  started(carrier_->start_send((*steps_)[step].peer, tag_, &own(), bytes, id(transfer)), transfer);
}

void WordRun::receive(std::size_t step) noexcept {
  const auto transfer = static_cast<std::uint32_t>(2 * step);
  started(carrier_->start_recv((*steps_)[step].peer, tag_, &other(), sizeof(Message), id(transfer)), transfer);
}

void WordRun::strand(Status s) noexcept {
  if (status_ != Status::ok) return;
  status_ = s;
  stranded_ = true;
  std::array<char, 512> why{};
  copy_message(why);
  const auto to = fmt::format_to_n(text_.data(), text_.size() - 1, "the agreement on {}, rank {}: {}", words_.what,
                                   carrier_->rank(), why.data());
  *to.out = 0;
}

void WordRun::complete(std::uint32_t transfer, const carrier::Completion& done) noexcept {
  if (transfer >= open_of_.size() || !open_of_[transfer]) return;
  open_of_[transfer] = 0;
  --open_;
  moved_ = Clock::now();
  if (status_ != Status::ok) return;
  if (done.status != Status::ok) {
    strand(done.status);
    return;
  }
  const bool received = transfer % 2 == 0;
  if (received && (done.bytes < kHead || done.bytes != kHead + other().bytes)) {
    strand(fail(Status::internal, "a message of an agreement has {} bytes, from rank {}", done.bytes,
                (*steps_)[transfer / 2].peer));
    return;
  }
  advance();
}

void WordRun::advance() noexcept {
  while (status_ == Status::ok && at_ < steps_->size() && !waits()) {
    const WordStep& step = (*steps_)[at_];
    switch (step.kind) {
      case WordStep::Kind::take:
      case WordStep::Kind::swap: take(step.peer_first); break;
      case WordStep::Kind::ask: own_ = 1 - own_; break;
      case WordStep::Kind::give: break;
    }
    if (++at_ < steps_->size() && status_ == Status::ok) post();
  }
}

// Results are equal on both ranks of a swap: `other_first` keeps one order of operands.
void WordRun::take(bool other_first) noexcept {
  const Load& load = words_.load;
  Message &a = own(), &b = other();
  if (a.word == 0 || a.word != b.word) {
    a.word = a.bytes = 0;
    return;
  }
  const bool has_none = b.bytes == 0 && load.kind == Load::Kind::broadcast;
  if (b.bytes != load.bytes && !has_none) {  // words were equal by chance
    a.word = a.bytes = 0;
    return;
  }
  if (b.bytes == 0) return;
  if (a.bytes == 0) {
    own_ = 1 - own_;
    return;
  }
  Status s = Status::ok;
  if (load.kind == Load::Kind::merge) {
    load.merge(b.data.data(), a.data.data());
  } else if (load.kind == Load::Kind::combine) {
    const std::byte *left = a.data.data(), *right = b.data.data();
    if (other_first) std::swap(left, right);
    s = payload::combine_values(load.op == payload::Op::mean ? payload::Op::sum : load.op, load.type, left, right,
                                a.data.data(), load.count);
  }
  if (s != Status::ok) strand(s);
}

void WordRun::give_up(Status status, const char* text) noexcept {
  bool free = true;
  for (std::uint32_t transfer = 0; transfer < open_of_.size(); ++transfer) {
    if (!open_of_[transfer]) continue;
    open_of_[transfer] = 0;
    free = carrier_->cancel(id(transfer)) && free;
  }
  open_ = 0;
  if (!free) retain(std::move(rooms_));
  if (status_ != Status::ok) return;
  status_ = status;
  const std::size_t n = std::min(std::strlen(text), text_.size() - 1);
  std::copy_n(text, n, text_.begin());
  text_[n] = 0;
}

bool WordRun::overdue(Clock::time_point now) const noexcept {
  return timeout() > 0 && std::chrono::duration<double>(now - moved_).count() > timeout();
}

void WordRun::pause(Clock::duration time) noexcept {
  if (std::chrono::duration<double>(time).count() > timeout() / 8) moved_ += time;
}

std::string WordRun::what_runs() const {
  return fmt::format("the agreement on {}, rank {}", words_.what, carrier_->rank());
}

std::string WordRun::diagnosis() const {
  std::string text = fmt::format("{}: nothing came for {:.3g} s;", what_runs(),
                                 std::chrono::duration<double>(Clock::now() - moved_).count());
  if (!going_) return text + " it waits for an earlier collective of the communicator, which has not ended";
  const char* before = "";
  for (std::size_t transfer = 0; transfer < open_of_.size(); ++transfer) {
    if (!open_of_[transfer]) continue;
    const bool sends = transfer % 2 != 0;
    text += fmt::format("{} it is missing rank {} ({})", before, (*steps_)[transfer / 2].peer,
                        sends ? "to take a message" : "its message");
    before = ",";
  }
  return text;
}

int WordRun::missing() const noexcept {
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}})  // receives, then sends
    for (std::size_t transfer = first; going_ && transfer < open_of_.size(); transfer += 2)
      if (open_of_[transfer] != 0) return (*steps_)[transfer / 2].peer;
  return -1;
}

Status WordRun::finish(Report* report) noexcept {
  active_ = false;
  if (status_ != Status::ok) return fail(status_, std::string_view(text_.data()));
  const Load& load = words_.load;
  const int rank = carrier_->rank();
  const bool same = words_.word != 0 && own().word == words_.word && own().bytes == load.bytes;
  if (words_.same != nullptr) *words_.same = same;
  if (!same) return Status::ok;
  if (load.takes(rank)) std::memcpy(load.out, own().data.data(), load.bytes);
  if (report != nullptr) {
    *report = {};
    report->raw_bytes = report->bytes_sent = bytes_sent_;
    report->messages_sent = messages_sent_;
    report->total_seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  }
  if (load.kind != Load::Kind::combine || load.op != payload::Op::mean || !load.takes(rank)) return Status::ok;
  return payload::divide_values(load.type, load.out, load.count, static_cast<std::uint32_t>(carrier_->size()));
}

}  // namespace stretto::engine
