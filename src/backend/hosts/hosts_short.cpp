#include "backend/hosts/hosts_short.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "base/retained.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"
#include "engine/tags.hpp"

namespace stretto::backend {

using namespace call;

namespace {

std::size_t bytes_of(const Shape& s) noexcept {
  return s.collective == Collective::barrier ? 1 : s.count * stretto_type_size(s.type);
}

std::uint64_t signature_of(const Shape& s) noexcept {
  std::uint64_t hash = engine::mix(static_cast<std::uint64_t>(s.collective), bytes_of(s));
  if (rooted(s.collective)) hash = engine::mix(hash, static_cast<std::uint64_t>(s.root));
  if (!reduces(s.collective)) return hash;
  return engine::mix(hash, static_cast<std::uint64_t>(s.type) << 32 | static_cast<std::uint64_t>(s.op));
}

}  // namespace

bool is_short(const Shape& s) noexcept {
  if (s.rank_by_rank) return false;
  switch (s.collective) {
    case Collective::allreduce:
    case Collective::reduce:
      return s.op != STRETTO_USER && s.op != STRETTO_DIFFERENCE && s.count > 0 &&
             bytes_of(s) <= schedule::longest_short_vector(s.collective);
    case Collective::bcast: return s.count > 0 && bytes_of(s) <= schedule::longest_short_vector(s.collective);
    case Collective::barrier: return true;
    default: return false;
  }
}

std::unique_ptr<ShortCall> make_short_call(Hosts& hosts, const Shape& shape, const BlockCoding* coding) {
  if (is_short(shape)) return std::make_unique<ShortVector>(hosts, shape);
  return std::make_unique<ShortBlocks>(hosts, shape, coding);
}

ShortCall::ShortCall(Hosts& hosts, const Shape& shape, std::uint64_t signature)
    : at_(hosts),
      kind_(shape.collective),
      bytes_(bytes_of(shape)),
      here_(static_cast<std::size_t>(hosts.index)),
      signature_(engine::mix(signature_of(shape), signature)) {
  peers_.reserve(at_.members.size());
  for (const auto& members : at_.members) peers_.push_back(members.front());
  const int rank = at_.engine.carrier().rank();
  if (rooted(kind_)) {
    root_host_ = static_cast<std::size_t>(at_.group_of[static_cast<std::size_t>(shape.root)]);
    peers_[root_host_] = shape.root;
    at_root_ = shape.root == rank;
    if (root_host_ == here_) stands_ = static_cast<int>(at_.number_of(shape.root));
  }
  is_peer_ = peers_[here_] == rank;
}

// A barrier is an allreduce of one byte, but called otherwise inside a host.
ShortVector::ShortVector(Hosts& hosts, const Shape& shape)
    : ShortCall(hosts, shape),
      count_(kind_ == Collective::barrier ? 1 : shape.count),
      type_(kind_ == Collective::barrier ? payload::Type::u8 : payload_type(shape.type)) {
  inside_.op = kind_ == Collective::barrier ? payload::Op::max : payload::Op::sum;
  if (reduces(kind_)) inside_.op = payload_op(shape.op);
  is_mean_ = inside_.op == payload::Op::mean;
  if (is_mean_) inside_.op = payload::Op::sum;
  if (kind_ == Collective::barrier && at_.host) arrivals_.resize(static_cast<std::size_t>(at_.host->size()));
}

Status ShortCall::run(const void* send, void* recv, double timeout) noexcept {
  static_cast<void>(at_.engine.pass());  // Nodes::run() takes a number first: a longer call sends under the second
  return run_as(at_.engine.pass(), send, recv, timeout, nullptr);
}

Status ShortCall::run_as(std::uint64_t number, const void* send, void* recv, double given,
                         engine::Report* ran) noexcept {
  ran_ = ran;
  const double timeout = timeout_of(given);
  if (at_.host) at_.host->group().patience().limit = timeout > 0 ? timeout : std::numeric_limits<double>::infinity();
  run_ = {schedule::name(kind_), number, signature_, timeout};
  // Another rank's alarm ends the call even where this rank only sends.
  Status s = at_.engine.usable(number);
  if (s == Status::ok && is_peer_) s = make_rooms();
  if (s == Status::ok) s = move(in_place(send) ? nullptr : send, recv);
  if (s == Status::ok) return s;
  std::array<char, 512> text{};
  copy_message(text);
  at_.engine.give_up(s, text.data(), number);
  retain_rooms();
  return fail(s, "{} through the memory of several hosts: {}", schedule::name(kind_), text.data());
}

Status ShortVector::make_rooms() noexcept {
  if (!at_.short_room) at_.short_room.reset(new (std::nothrow) ShortRoom);
  if (at_.short_room) return Status::ok;
  return fail(Status::out_of_memory, std::string_view("no memory for the messages between hosts"));
}

void ShortVector::retain_rooms() noexcept { retain(std::move(at_.short_room)); }

Status ShortVector::move(const void* in, void* out) noexcept {
  if (kind_ == Collective::bcast) return bcast(out != nullptr ? out : const_cast<void*>(in));
  return combine_all(in, out);
}

Status ShortVector::combine_all(const void* in, void* out) noexcept {
  static constexpr std::byte kArrives{1};
  std::byte released{};
  if (kind_ == Collective::barrier) {
    in = &kArrives;
    out = &released;
  }
  const bool to_all = kind_ != Collective::reduce;
  own_ = 0;
  if (at_.host) {
    const void* const operand = in != nullptr ? in : out;
    const Status s = kind_ == Collective::barrier
                         ? at_.host->gather(operand, arrivals_.data(), bytes_, stands_)
                         : at_.host->reduce(operand, is_peer_ ? own() : nullptr, count_, type_, inside_, stands_);
    if (s != Status::ok) return s;
  } else {
    std::memcpy(own(), in != nullptr ? in : out, bytes_);
  }
  if (is_peer_) {
    if (const Status s = to_all ? sum_on_all() : sum_on_root(); s != Status::ok) return s;
    if (to_all || at_root_) {
      if (const Status s = finish(); s != Status::ok) return s;
      std::memcpy(out, own(), bytes_);
    }
  }
  return to_all && at_.host ? at_.host->bcast(out, bytes_, stands_) : Status::ok;
}

Status ShortVector::finish() noexcept {
  if (!is_mean_) return Status::ok;
  return node::finish({.op = payload::Op::mean}, type_, own(), count_, at_.engine.carrier().size());
}

Status ShortVector::bcast(void* data) noexcept {
  own_ = 0;
  if (is_peer_) {
    if (at_root_) std::memcpy(own(), data, bytes_);
    if (const Status s = send_from_root(); s != Status::ok) return s;
    if (!at_root_) std::memcpy(data, own(), bytes_);
  }
  return at_.host ? at_.host->bcast(data, bytes_, stands_) : Status::ok;
}

Status ShortVector::sum_on_all() noexcept {
  const std::size_t hosts = peers_.size(), even = std::bit_floor(hosts), pairs = hosts - even;
  // Hosts 0 and 1, 2 and 3, ... of the first 2 * pairs act as one.
  const bool paired = here_ < 2 * pairs;
  if (paired && here_ % 2 == 0) {
    Status s = send(here_ + 1);
    if (s == Status::ok) s = receive(here_ + 1);
    own_ = (own_ + 1) % kRooms;
    return s;
  }
  if (paired) {
    Status s = receive(here_ - 1);
    if (s == Status::ok) s = combine(true);
    if (s != Status::ok) return s;
  }
  const std::size_t place = paired ? here_ / 2 : here_ - pairs;
  const auto host_at = [&](std::size_t p) { return p < pairs ? 2 * p + 1 : p + pairs; };
  for (std::size_t bit = 1; bit < even; bit *= 2) {
    Status s = swap(host_at(place ^ bit));
    if (s == Status::ok) s = combine((place & bit) != 0);
    if (s != Status::ok) return s;
  }
  return paired ? send(here_ - 1) : Status::ok;
}

Status ShortVector::sum_on_root() noexcept {
  const std::size_t hosts = peers_.size(), place = (here_ + hosts - root_host_) % hosts;
  const auto host_at = [&](std::size_t p) { return (p + root_host_) % hosts; };
  for (std::size_t bit = 1; bit < hosts; bit *= 2) {
    if ((place & bit) != 0) return send(host_at(place - bit));
    if (place + bit >= hosts) continue;
    Status s = receive(host_at(place + bit));
    if (s == Status::ok) s = combine(false);
    if (s != Status::ok) return s;
  }
  return Status::ok;
}

Status ShortVector::send_from_root() noexcept {
  const std::size_t hosts = peers_.size(), place = (here_ + hosts - root_host_) % hosts;
  const auto host_at = [&](std::size_t p) { return (p + root_host_) % hosts; };
  std::size_t bit = std::bit_ceil(hosts);
  if (place > 0) {
    bit = place & (~place + 1);
    const Status s = receive(host_at(place - bit));
    own_ = (own_ + 1) % kRooms;
    if (s != Status::ok) return s;
  }
  std::array<engine::ShortMessage, engine::Engine::kMostShortMessages> all;
  std::size_t n = 0;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < hosts) all[n++] = {peers_[host_at(place + bit)], true, own(), bytes_};
    if (n < all.size() && bit > 1) continue;
    if (const Status s = exchange({all.data(), n}); s != Status::ok) return s;
    n = 0;
  }
  return Status::ok;
}

Status ShortCall::exchange(std::span<const engine::ShortMessage> messages) noexcept {
  if (ran_ != nullptr)
    for (const engine::ShortMessage& m : messages) {
      if (!m.sends) continue;
      ran_->bytes_sent += m.sent();
      ran_->raw_bytes += m.bytes;
      ++ran_->messages_sent;
    }
  return at_.engine.exchange(run_, messages);
}

void ShortCall::promise(double error) noexcept {
  if (ran_ != nullptr) ran_->promised_error = error;
}

Status ShortVector::swap(std::size_t with) noexcept {
  const std::array<engine::ShortMessage, 2> both{
      {{peers_[with], false, other(), bytes_}, {peers_[with], true, own(), bytes_}}};
  return exchange(both);
}

Status ShortVector::send(std::size_t to) noexcept {
  const engine::ShortMessage m{peers_[to], true, own(), bytes_};
  return exchange({&m, 1});
}

Status ShortVector::receive(std::size_t from) noexcept {
  const engine::ShortMessage m{peers_[from], false, other(), bytes_};
  return exchange({&m, 1});
}

// Equal on all ranks, whatever the operation makes of zeros and NaNs.
Status ShortVector::combine(bool other_first) noexcept {
  std::byte *left = own(), *right = other();
  if (other_first) std::swap(left, right);
  std::byte* const sum = room((own_ + 2) % kRooms);
  const Status s = node::join(inside_, type_, left, right, sum, count_);
  own_ = (own_ + 2) % kRooms;
  return s;
}

}  // namespace stretto::backend
