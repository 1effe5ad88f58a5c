#include "mpi/kept.hpp"

#include <limits>

#include "api/types.hpp"

namespace stretto::mpi {
namespace {

template <class Narrow>
bool fits(std::int64_t n) noexcept {
  return n >= 0 && n <= std::numeric_limits<Narrow>::max();
}

}  // namespace

[[gnu::always_inline]] inline std::size_t Kept::place_of(const Call& call) noexcept {
  const auto number = [](auto n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t counts = number(call.recvcount) * 0xD6E8FEB86659FD93u ^ number(call.sendcount);
  const std::uint64_t h =
      (counts ^ number(call.operation) << 56 ^ number(call.root) << 32) * std::uint64_t{0x9E3779B97F4A7C15u};
  return (h >> 40) % lines;
}

[[gnu::hot]] bool Kept::again(const Call& call, const Communicator& c, double timeout,
                              stretto_status* status) const noexcept {
  const Line& line = lines_[place_of(call)];
  const Key& k = line.key;
  if (!line.call || call.form != Form::blocking || k.operation != call.operation || k.sendcount != call.sendcount ||
      k.recvcount != call.recvcount || k.root != call.root || k.sendtype != call.sendtype ||
      k.recvtype != call.recvtype || k.op != call.op)
    return false;
  const Sides at = sides_of(call, c, k.extent);
  if (k.buffers != api::kind_of(at.send, at.recv) || !line.call.holds(*c.comm)) return false;
  *status = api::to_c(line.call.run(*c.comm, at.send, at.recv, timeout));
  return true;
}

void Kept::keep(const Call& call, const Communicator& c, const Passed& passed) noexcept {
  // Where nothing was copied, all lies where the call says; and then its elements lie dense for all to see.
  if (sides_of(call, c, passed.extent) != passed.sides) return;
  if (!fits<std::uint32_t>(call.sendcount) || !fits<std::uint32_t>(call.recvcount) ||
      !fits<std::uint16_t>(passed.extent))
    return;
  api::Repetition repetition(*c.comm);
  if (!repetition) return;
  Line& line = lines_[place_of(call)];
  line.key = {.operation = call.operation,
              .buffers = api::kind_of(passed.sides.send, passed.sides.recv),
              .extent = static_cast<std::uint16_t>(passed.extent),
              .sendcount = static_cast<std::uint32_t>(call.sendcount),
              .recvcount = static_cast<std::uint32_t>(call.recvcount),
              .root = call.root,
              .sendtype = call.sendtype,
              .recvtype = call.recvtype,
              .op = call.op};
  line.call = std::move(repetition);
}

}  // namespace stretto::mpi
