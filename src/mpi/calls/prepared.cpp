#include "mpi/calls/prepared.hpp"

#include <type_traits>

#include "api/communicator.hpp"
#include "call/enums.hpp"
#include "mpi/calls/buffers.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

[[gnu::always_inline]] inline bool key_of(const WrappedCall& call, api::PreparedKey* key) noexcept {
  const auto number = [](auto n) {
    if constexpr (std::is_pointer_v<decltype(n)>)
      return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(n));
    else
      return static_cast<std::uint64_t>(n);
  };
  const std::uint64_t sent = number(call.sendcount), received = number(call.recvcount);
  if (call.form != Form::blocking || call.recvcounts || (sent | received) >> 32 != 0) return false;
  const std::uint64_t in_place = number(call.sendbuf == MPI_IN_PLACE) << 1 | number(call.recvbuf == MPI_IN_PLACE);
  key->words = {api::PreparedKey::of_program | in_place << 2 | number(call.operation) << 8 | number(call.root) << 32,
                sent << 32 | received, number(call.sendtype), number(call.recvtype), number(call.op)};
  return true;
}

[[gnu::hot]] bool again(const WrappedCall& call, const Communicator& c, double timeout,
                        stretto_status* status) noexcept {
  api::PreparedKey key;
  if (!c.comm || !c.comm->is_free() || !key_of(call, &key)) return false;  // else drivers may drop the lines
  const api::PreparedCalls::Line* const line = c.comm->prepared.find(key);
  if (!line) return false;
  const Buffers at = buffers_of(call, c, line->extent);
  if (line->buffers != api::buffers_kind(at.send, at.recv)) return false;
  *status = call::to_c(line->run(*c.comm, at.send, at.recv, timeout));
  return true;
}

}  // namespace stretto::mpi
