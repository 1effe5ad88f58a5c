// Cache of a communicator's prepared calls, keyed by the program's arguments: an equal call runs after one comparison.
// It touches few cache lines, since calls that enter the kernel find all of them cold.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "api/operation/prepared.hpp"
#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

struct Communicator;
struct Passed;

class PreparedByArguments {
 public:
  // True: an equal call is cached and ran; *status is its result.
  bool again(const WrappedCall& call, const Communicator& c, double timeout, stretto_status* status) const noexcept;

  // Caches a call that serve() just ran with `passed`, if the next equal call can run at once, without copies of its
  // data.
  void keep(const WrappedCall& call, const Communicator& c, const Passed& passed) noexcept;

  void clear() noexcept { lines_.clear(); }

 private:
  // Everything that decides how a call runs. The handles stay valid: dense types and the operations of served
  // reductions are predefined. Other handles are only compared.
  struct Key {
    Function operation{};
    std::uint8_t buffers = 0;  // api::buffers_kind() of the passed buffers
    std::uint16_t extent = 0;  // see buffers_of()
    std::uint32_t sendcount = 0, recvcount = 0;
    int root = 0;
    MPI_Datatype sendtype = MPI_DATATYPE_NULL, recvtype = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
  };
  struct alignas(64) Line {
    Key key;
    api::Prepared call;  // empty: an empty line
  };
  static_assert(sizeof(Line) == 64);
  static std::size_t hash_of(const WrappedCall& call) noexcept;

  api::PreparedLines<Line> lines_;
};

}  // namespace stretto::mpi
