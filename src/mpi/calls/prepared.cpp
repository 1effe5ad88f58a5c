#include "mpi/calls/prepared.hpp"

#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "api/communicator.hpp"
#include "call/enums.hpp"
#include "mpi/calls/buffers.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {
namespace {

template <class Narrow>
bool fits(std::int64_t n) noexcept {
  return n >= 0 && n <= std::numeric_limits<Narrow>::max();
}

}  // namespace

[[gnu::always_inline]] inline std::size_t PreparedByArguments::hash_of(const WrappedCall& call) noexcept {
  const auto number = [](auto n) {
    if constexpr (std::is_pointer_v<decltype(n)>)
      return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(n));
    else
      return static_cast<std::uint64_t>(n);
  };
  const auto mixed = [](std::uint64_t n, std::uint64_t by) { return n * by ^ n * by >> 32; };
  const std::uint64_t in_place = number(call.sendbuf == MPI_IN_PLACE) << 1 | number(call.recvbuf == MPI_IN_PLACE);
  const std::uint64_t kind = number(call.operation) << 2 | in_place;
  const std::uint64_t numbers =
      number(call.recvcount) << 32 ^ number(call.sendcount) << 12 ^ number(call.root) ^ kind << 56;
  const std::uint64_t handles =
      number(call.recvtype) ^ std::rotl(number(call.op), 24) ^ std::rotl(number(call.sendtype), 44);
  return mixed(mixed(numbers, 0xD6E8FEB86659FD93u) + mixed(handles, 0xA0761D6478BD642Fu), 0x9E3779B97F4A7C15u) >> 58;
}

[[gnu::hot]] bool PreparedByArguments::again(const WrappedCall& call, const Communicator& c, double timeout,
                                             stretto_status* status) const noexcept {
  const Line* const found = lines_.at(hash_of(call));
  if (!found) return false;
  const Line& line = *found;
  const Key& k = line.key;
  if (!line.call || call.form != Form::blocking || k.operation != call.operation || k.sendcount != call.sendcount ||
      k.recvcount != call.recvcount || k.root != call.root || k.sendtype != call.sendtype ||
      k.recvtype != call.recvtype || k.op != call.op)
    return false;
  const Buffers at = buffers_of(call, c, k.extent);
  if (k.buffers != api::buffers_kind(at.send, at.recv) || !line.call.holds(*c.comm)) return false;
  *status = call::to_c(line.call.run(*c.comm, at.send, at.recv, timeout));
  return true;
}

void PreparedByArguments::keep(const WrappedCall& call, const Communicator& c, const PassedBuffers& passed) noexcept {
  if (call.recvcounts) return;
  // Only calls without copies: their buffers are the program's, with dense elements.
  if (buffers_of(call, c, passed.extent) != passed.buffers) return;
  if (!fits<std::uint32_t>(call.sendcount) || !fits<std::uint32_t>(call.recvcount) ||
      !fits<std::uint16_t>(passed.extent))
    return;
  api::Prepared last = c.comm->prepared.last(*c.comm);
  Line* const line = last ? lines_.make(hash_of(call)) : nullptr;
  if (!line) return;
  line->key = {.operation = call.operation,
               .buffers = api::buffers_kind(passed.buffers.send, passed.buffers.recv),
               .extent = static_cast<std::uint16_t>(passed.extent),
               .sendcount = static_cast<std::uint32_t>(call.sendcount),
               .recvcount = static_cast<std::uint32_t>(call.recvcount),
               .root = call.root,
               .sendtype = call.sendtype,
               .recvtype = call.recvtype,
               .op = call.op};
  line->call = std::move(last);
}

}  // namespace stretto::mpi
