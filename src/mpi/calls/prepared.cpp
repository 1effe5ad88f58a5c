#include "mpi/calls/prepared.hpp"

#include <array>
#include <cstddef>
#include <type_traits>

#include "api/profiling.hpp"
#include "call/enums.hpp"
#include "mpi/calls/buffers.hpp"
#include "mpi/calls/types.hpp"
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
  key->words = {api::PreparedKey::kOfProgram | in_place << 2 | number(call.operation) << 8 | number(call.root) << 32,
                sent << 32 | received, number(call.sendtype), number(call.recvtype), number(call.op)};
  return true;
}

bool packed_key_of(const WrappedCall& call, api::PreparedKey* key) noexcept {
  const bool derived = call.operation == Function::bcast && call.form == Form::blocking &&
                       call.recvtype != MPI_DATATYPE_NULL && call.recvcount > 0 && call.recvcount <= kLongestPacked &&
                       !element_of(call.recvtype);
  const std::int64_t bytes = derived ? call.recvcount * bytes_of(call.recvtype) : 0;
  if (bytes <= 0 || bytes > kLongestPacked) return false;
  key->words = {api::PreparedKey::kOfProgram | std::uint64_t{1} << 4 | static_cast<std::uint64_t>(call.operation) << 8 |
                    static_cast<std::uint64_t>(call.root) << 32,
                static_cast<std::uint64_t>(bytes)};
  return true;
}

namespace {

[[gnu::noinline]] bool again_packed(const WrappedCall& call, const Communicator& c, double timeout,
                                    stretto_status* status) noexcept {
  api::PreparedKey key;
  const api::PreparedCalls::Line* const line = packed_key_of(call, &key) ? c.comm->prepared.find(key) : nullptr;
  if (!line) return false;
  std::array<std::byte, kLongestPacked> packed;
  const int count = static_cast<int>(call.recvcount), bytes = static_cast<int>(key.words[1]);
  const bool root = c.rank == call.root;
  int position = 0;
  if (root &&
      (PMPI_Pack(call.recvbuf, count, call.recvtype, packed.data(), bytes, &position, call.comm) != MPI_SUCCESS ||
       position != bytes))
    return false;
  const Buffers at = root ? Buffers{packed.data(), nullptr} : Buffers{nullptr, packed.data()};
  if (line->buffers != api::buffers_kind(at.send, at.recv)) return false;
  *status = call::to_c(line->run(*c.comm, at.send, at.recv, timeout));
  if (*status == STRETTO_OK && !root &&
      PMPI_Unpack(packed.data(), bytes, &position, call.recvbuf, count, call.recvtype, call.comm) != MPI_SUCCESS)
    *status = call::to_c(fail(Status::mpi_error, "a datatype of {} bytes cannot be unpacked", bytes));
  return true;
}

}  // namespace

[[gnu::hot]] bool again(const WrappedCall& call, const Communicator& c, double timeout,
                        stretto_status* status) noexcept {
  api::PreparedKey key;
  if (!c.comm || !c.comm->is_free() || !key_of(call, &key)) return false;  // else drivers may drop the lines
  const api::PreparedCalls::Line* const line = c.comm->prepared.find(key);
  if (!line) return again_packed(call, c, timeout, status);
  const Buffers at = buffers_of(call, c, line->extent);
  if (line->buffers != api::buffers_kind(at.send, at.recv)) return false;
  *status = call::to_c(line->run(*c.comm, at.send, at.recv, timeout));
  return true;
}

}  // namespace stretto::mpi
