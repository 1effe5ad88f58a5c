// Calls of a communicator that are prepared, by the arguments that the program gave: the next call like one of them runs after one
// comparison. Where a call enters the kernel, every cache line that its way touches is cold.
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
  // True: a call like this one is kept, and ran; *status is what came of it.
  bool again(const WrappedCall& call, const Communicator& c, double timeout, stretto_status* status) const noexcept;

  // serve() just ran this call exactly, and passed `passed`. Kept, if the next one like it runs at once, without copies of its data.
  void keep(const WrappedCall& call, const Communicator& c, const Passed& passed) noexcept;

  void clear() noexcept { lines_.clear(); }

 private:
  // All that decides how a call runs. Handles stay what they are: types whose elements lie dense for all to see are the MPI's own, as are the
  // operations of reductions that are served; others are compared, and mean nothing.
  struct Key {
    Function operation{};
    std::uint8_t buffers = 0;  // api::buffers_kind(), as passed
    std::uint16_t extent = 0;  // as of buffers_of()
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
