// Short calls of several hosts: a line of the node's memory to each host's first rank, the transport's own collective among
// these, and a line back. An operand, or a part of a sum, crosses the network once a host.
#include <array>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "backend/hosts_calls.hpp"
#include "call/enums.hpp"
#include "call/inputs.hpp"

namespace stretto::backend {

using namespace call;

namespace {

std::size_t bytes_of(const Shape& s) noexcept { return s.count * stretto_type_size(s.type); }

class ShortCall final : public PreparedCall {
 public:
  ShortCall(Hosts& hosts, const Shape& shape)
      : at_(hosts),
        shape_(shape),
        bytes_(bytes_of(shape)),
        root_(rooted(shape.collective) ? shape.root : hosts.members.front().front()),
        root_host_(hosts.group_of[static_cast<std::size_t>(root_)]),
        root_number_(static_cast<int>(hosts.number_of(root_))),
        at_root_(root_ == hosts.engine.carrier().rank()),
        with_root_(root_host_ == hosts.index),
        first_(hosts.number == 0),
        type_(payload_type(shape.type)) {
    if (reduces(shape.collective)) inside_.op = payload_op(shape.op);
    if (shape.collective == Collective::reduce && !at_root_) room_.resize(bytes_);
  }

  // False: there is no memory.
  bool prepare() {
    if (!first_) return true;
    Shape between = shape_;
    between.root = root_host_;
    between_ = at_.native->prepare(between);
    return between_ != nullptr;
  }

  Status run(const void* send, void* recv, double given) noexcept override {
    const std::uint64_t number = at_.engine.pass();
    const double timeout = timeout_of(given);
    if (at_.host) at_.host->group().patience().limit = timeout > 0 ? timeout : std::numeric_limits<double>::infinity();
    const Status s = move(send, recv, given);
    if (s == Status::ok) return s;
    std::array<char, 512> text{};
    std::string_view(message()).copy(text.data(), text.size() - 1);
    at_.engine.give_up(s, text.data(), number);
    return fail(s, "{} through the memory of several hosts: {}", schedule::name(shape_.collective), text.data());
  }

 private:
  Status move(const void* send, void* recv, double timeout) noexcept {
    const void* const in = send == STRETTO_IN_PLACE ? nullptr : send;
    switch (shape_.collective) {
      case Collective::allreduce: return allreduce(in, recv, timeout);
      case Collective::reduce: return reduce(in, recv, timeout);
      default: return bcast(recv != nullptr ? recv : const_cast<void*>(send), timeout);
    }
  }

  // In place among the hosts: a host's sum is where the result comes.
  Status allreduce(const void* in, void* out, double timeout) noexcept {
    if (!at_.host) return between_->run(in != nullptr ? in : STRETTO_IN_PLACE, out, timeout);
    Status s = first_ ? at_.host->reduce(in, out, shape_.count, type_, inside_, 0)
                      : at_.host->reduce(in != nullptr ? in : out, nullptr, shape_.count, type_, inside_, 0);
    if (s == Status::ok && first_) s = between_->run(STRETTO_IN_PLACE, out, timeout);
    return s == Status::ok ? at_.host->bcast(out, bytes_, 0) : s;
  }

  Status reduce(const void* in, void* out, double timeout) noexcept {
    if (!at_.host) return between_->run(at_root_ && in == nullptr ? STRETTO_IN_PLACE : in, out, timeout);
    std::byte* const room = room_.data();
    void* const sum = at_root_ ? out : room;
    const void* const own = in != nullptr ? in : out;  // in place: at the root alone
    Status s = at_.host->reduce(first_ && at_root_ ? in : own, first_ ? sum : nullptr, shape_.count, type_, inside_, 0);
    if (s == Status::ok && first_)
      s = with_root_ ? between_->run(STRETTO_IN_PLACE, sum, timeout) : between_->run(sum, nullptr, timeout);
    if (s != Status::ok || !with_root_ || root_number_ == 0) return s;
    return at_.host->bcast(sum, bytes_, 0);
  }

  Status bcast(void* data, double timeout) noexcept {
    Status s = Status::ok;
    if (at_.host && with_root_) s = at_.host->bcast(data, bytes_, root_number_);
    if (s == Status::ok && first_)
      s = with_root_ ? between_->run(data, nullptr, timeout) : between_->run(nullptr, data, timeout);
    return s == Status::ok && at_.host && !with_root_ ? at_.host->bcast(data, bytes_, 0) : s;
  }

  Hosts& at_;
  const Shape shape_;
  const std::size_t bytes_;
  const int root_;
  const std::int32_t root_host_;
  const int root_number_;  // among the ranks of its host
  const bool at_root_, with_root_;
  const bool first_;  // of its host
  const payload::Type type_;
  node::Combination inside_;
  std::unique_ptr<PreparedCall> between_;  // of the hosts' first ranks
  std::vector<std::byte> room_;            // for a sum whose root is another rank
};

}  // namespace

bool is_short(const Shape& s) noexcept {
  if (s.rank_by_rank || (reduces(s.collective) && s.op == STRETTO_MEAN)) return false;
  switch (s.collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::bcast: return bytes_of(s) > 0;
    default: return false;
  }
}

std::unique_ptr<PreparedCall> prepare_short(Hosts& hosts, const Shape& shape) noexcept {
  try {
    auto made = std::make_unique<ShortCall>(hosts, shape);
    if (made->prepare()) return made;
  } catch (const std::bad_alloc&) {  // as where the transport has none
  }
  return nullptr;
}

}  // namespace stretto::backend
