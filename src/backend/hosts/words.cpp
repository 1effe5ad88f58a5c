#include "backend/hosts/words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/guarded.hpp"
#include "base/retained.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "engine/tags.hpp"
#include "node/group/words.hpp"

namespace stretto::backend {

using namespace call;

namespace {

constexpr std::size_t head = offsetof(WordRooms::Message, data);

// Seconds by which a rank waits longer for its host's outcome than those that stand wait for one another.
constexpr double longer = 0.25;

static_assert(schedule::longest_short_call <= node::most_worded);

bool gives(const Load& load, int rank) noexcept {
  return load.way != Load::Way::none && (load.way != Load::Way::broadcast || load.root == rank);
}

bool gets(const Load& load, int rank) noexcept {
  if (load.way == Load::Way::broadcast) return load.root != rank;
  return load.way != Load::Way::none && (load.root < 0 || load.root == rank);
}

node::Combination combination_of(const Load& load) noexcept {
  return {load.op == payload::Op::mean ? payload::Op::sum : load.op};
}

}  // namespace

Load load_of(const Shape& s, const void* send, void* recv) noexcept {
  Load load;
  load.bytes = s.count * stretto_type_size(s.type);
  load.count = s.count;
  load.type = payload_type(s.type);
  if (rooted(s.collective)) load.root = s.root;
  if (s.collective == Collective::bcast) {
    load.way = Load::Way::broadcast;
    load.out = recv != nullptr ? recv : const_cast<void*>(send);
    return load;
  }
  load.way = Load::Way::combine;
  load.op = payload_op(s.op);
  load.in = send == STRETTO_IN_PLACE ? nullptr : send;
  load.out = recv;
  return load;
}

bool Words::is_arranged() const noexcept {
  return arranged_ && hosts_ == (backends_.nodes ? backends_.nodes->hosts() : nullptr);
}

void Words::arrange() {
  hosts_ = backends_.nodes ? backends_.nodes->hosts() : nullptr;
  arranged_ = false;
  standing_.clear();
  senders_.clear();
  mates_.clear();
  const int rank = engine_.carrier().rank();
  if (hosts_ != nullptr) {
    for (const auto& members : hosts_->members) standing_.push_back(members.front());
    here_ = static_cast<std::size_t>(hosts_->index);
    for (int r = 1; hosts_->host && r < hosts_->host->size(); ++r) mates_.push_back(r);
  } else {
    for (int r = 0; r < engine_.carrier().size(); ++r) standing_.push_back(r);
    here_ = static_cast<std::size_t>(rank);
  }
  stands_ = standing_[here_] == rank;
  const std::size_t all = standing_.size(), even = std::bit_floor(all), pairs = all - even;
  const bool paired = here_ < 2 * pairs;
  const std::size_t place = paired ? here_ / 2 : here_ - pairs;
  if (stands_ && paired) senders_.push_back(standing_[here_ ^ 1]);
  for (std::size_t bit = 1; stands_ && !(paired && here_ % 2 == 0) && bit < even; bit *= 2) {
    const std::size_t p = place ^ bit;
    senders_.push_back(standing_[p < pairs ? 2 * p + 1 : p + pairs]);
  }
  arranged_ = true;
}

Status Words::prepare() noexcept {
  own_ = 0;
  if (rooms_ && is_arranged()) return Status::ok;
  return guarded("for the messages of an agreement", [&] {
    if (!rooms_) rooms_ = std::make_unique<WordRooms>();
    if (!is_arranged()) arrange();
    return Status::ok;
  });
}

std::span<const std::int32_t> Words::senders() const noexcept {
  if (is_arranged()) return senders_;
  // Words are few, and come soon after a call's begin: another look follows.
  try {
    const_cast<Words*>(this)->arrange();
  } catch (const std::bad_alloc&) {
    return {};
  }
  return senders_;
}

void Words::answer(std::uint64_t number) noexcept {
  run_ = {"agreement", number, 0, timeout_of(0), true};
  ran_ = nullptr;
  if (prepare() != Status::ok) return;
  own().word = word_ = 0;
  own().bytes = 0;
  if (between({}) != Status::ok) retain(std::move(rooms_));
}

Status Words::agree(const char* what, std::uint64_t word, const Load& load, double given, bool* same,
                    engine::Report* ran) noexcept {
  const double timeout = timeout_of(given);
  const std::uint64_t number = engine_.upcoming();
  run_ = {what, number, 0, timeout, true};
  ran_ = ran;
  same_ = false;
  Status s = engine_.usable(number);
  if (s == Status::ok) s = prepare();
  if (s != Status::ok) return s;
  word_ = word == 0 ? 0 : engine::mix(word, number) | 1;
  if (hosts_ != nullptr && hosts_->host)
    hosts_->host->group().patience().limit = timeout > 0 ? timeout : std::numeric_limits<double>::infinity();
  s = stands_ ? stand(load) : follow(load);
  if (s != Status::ok) {
    retain(std::move(rooms_));  // a message may still be under way
    return s;
  }
  if (same_) static_cast<void>(engine_.pass());
  *same = same_;
  return Status::ok;
}

// The memory of this host ends then, and the exchange of signatures tells all ranks.
bool Words::only_forms_differ(Status s) const noexcept {
  return s == Status::incompatible && !hosts_->host->group().differed();
}

Status Words::stand(const Load& load) noexcept {
  put_own(load);
  node::Group* const group = mates_.empty() ? nullptr : &hosts_->host->group();
  bool forms_differ = false;
  if (group != nullptr) {
    const Status s = node::take_words(*group, [&](const node::Worded& w) { take(w.data, w.word, w.bytes, load); });
    forms_differ = only_forms_differ(s);
    if (forms_differ)
      own().word = 0;
    else if (s != Status::ok)
      return s;
  }
  if (const Status s = between(load); s != Status::ok) return s;
  same_ = word_ != 0 && own().word == word_;
  if (same_ && load.way == Load::Way::combine && load.op == payload::Op::mean) {
    const Status s =
        node::finish({payload::Op::mean}, load.type, own().data.data(), load.count, engine_.carrier().size());
    if (s != Status::ok) return s;
  }
  if (group != nullptr && !forms_differ) {
    const bool wanted = load.root < 0 || load.way == Load::Way::broadcast ||
                        (load.root != engine_.carrier().rank() &&
                         hosts_->group_of[static_cast<std::size_t>(load.root)] == hosts_->index);
    const node::Worded all{same_ ? word_ : 0, own().data.data(), same_ && wanted ? own().bytes : 0};
    if (const Status s = node::answer_words(*group, all, mates_); s != Status::ok) return s;
  }
  if (same_) deliver(own().data.data(), own().bytes, load);
  return Status::ok;
}

Status Words::follow(const Load& load) noexcept {
  node::Group& group = hosts_->host->group();
  const bool has = gives(load, engine_.carrier().rank());
  const void* const in = load.in != nullptr ? load.in : load.out;
  // The rank that stands knows who is missing elsewhere, and tells at its own limit.
  if (run_.timeout > 0) group.patience().limit += longer;
  Status s = node::give_word(group, {word_, static_cast<const std::byte*>(in), has ? load.bytes : 0}, 0);
  if (s == Status::ok)
    s = node::take_answer(group, 0, [&](const node::Worded& w) {
      same_ = word_ != 0 && w.word == word_;
      if (same_) deliver(w.data, w.bytes, load);
    });
  return s == Status::ok || only_forms_differ(s) ? Status::ok : s;
}

void Words::put_own(const Load& load) noexcept {
  own().word = word_;
  own().bytes = 0;
  if (!gives(load, engine_.carrier().rank())) return;
  own().bytes = load.bytes;
  std::memcpy(own().data.data(), load.in != nullptr ? load.in : load.out, load.bytes);
}

// What a rank of this host gave.
void Words::take(const std::byte* data, std::uint64_t word, std::size_t bytes, const Load& load) noexcept {
  Message& o = own();
  if (o.word == 0) return;
  bool fits = word == o.word;
  switch (load.way) {
    case Load::Way::none: break;
    case Load::Way::broadcast:
      if (fits && bytes == load.bytes) {
        std::memcpy(o.data.data(), data, bytes);
        o.bytes = bytes;
      }
      break;
    case Load::Way::combine:
      fits = fits && bytes == load.bytes &&
             node::fold(combination_of(load), load.type, o.data.data(), data, load.count) == Status::ok;
      break;
    case Load::Way::merge:
      fits = fits && bytes == load.bytes;
      if (fits) load.merge(data, o.data.data());
      break;
  }
  if (!fits) o.word = 0;
}

// What other() has from another host. Zeros and NaNs are combined in one order, so all ranks have the same bytes.
void Words::take_other(const Load& load, bool other_first) noexcept {
  const Message& from = other();
  if (load.way != Load::Way::combine || own().word == 0 || from.word != own().word || from.bytes != load.bytes) {
    if (load.way == Load::Way::broadcast && own().word != 0 && from.word == own().word && from.bytes == load.bytes)
      own_ = (own_ + 1) % 3;
    else
      take(from.data.data(), from.word, from.bytes, load);
    return;
  }
  const std::byte *left = own().data.data(), *right = from.data.data();
  if (other_first) std::swap(left, right);
  Message& sum = spare();
  const Status s = node::join(combination_of(load), load.type, left, right, sum.data.data(), load.count);
  sum.word = s == Status::ok ? own().word : 0;
  sum.bytes = load.bytes;
  own_ = (own_ + 2) % 3;
}

void Words::deliver(const std::byte* data, std::size_t bytes, const Load& load) const noexcept {
  if (gets(load, engine_.carrier().rank()) && bytes == load.bytes) std::memcpy(load.out, data, bytes);
}

Status Words::between(const Load& load) noexcept {
  const std::size_t all = standing_.size(), even = std::bit_floor(all), pairs = all - even;
  // The first 2 * pairs take part as pairs. A rank that waits has sent a word: it may have to be answered.
  const bool paired = here_ < 2 * pairs, leaves = paired && here_ % 2 == 0;
  if (paired) {
    if (!leaves) spare().word = own().word, spare().bytes = 0;
    if (const Status s = swap(here_ ^ 1, leaves ? own() : spare(), &other()); s != Status::ok) return s;
    if (leaves) {
      const Status s = receive(here_ + 1);
      own_ = (own_ + 1) % 3;
      return s;
    }
    take_other(load, true);
  }
  const std::size_t place = paired ? here_ / 2 : here_ - pairs;
  for (std::size_t bit = 1; bit < even; bit *= 2) {
    const std::size_t p = place ^ bit;
    if (const Status s = swap(p < pairs ? 2 * p + 1 : p + pairs, own(), &other()); s != Status::ok) return s;
    take_other(load, (place & bit) != 0);
  }
  if (load.way == Load::Way::broadcast && own().bytes != load.bytes) own().word = 0;
  return paired ? send(here_ - 1) : Status::ok;
}

engine::ShortMessage Words::sent(std::size_t to, const Message& given) noexcept {
  if (ran_ != nullptr && given.bytes > 0) {
    ran_->bytes_sent += given.bytes;
    ran_->raw_bytes += given.bytes;
    ++ran_->messages_sent;
  }
  return {standing_[to], true, const_cast<Message*>(&given), head + given.bytes};
}

Status Words::swap(std::size_t with, const Message& given, Message* taken) noexcept {
  const std::array<engine::ShortMessage, 2> both{{{standing_[with], false, taken, sizeof *taken}, sent(with, given)}};
  return engine_.exchange(run_, both);
}

Status Words::send(std::size_t to) noexcept {
  const engine::ShortMessage m = sent(to, own());
  return engine_.exchange(run_, {&m, 1});
}

Status Words::receive(std::size_t from) noexcept {
  const engine::ShortMessage m{standing_[from], false, &other(), sizeof(Message)};
  return engine_.exchange(run_, {&m, 1});
}

}  // namespace stretto::backend
