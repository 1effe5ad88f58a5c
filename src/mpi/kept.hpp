// Calls of a communicator that went straight to a native collective, by the arguments that the program gave: the next call like one of them goes
// there after one comparison. Where a call enters the kernel, every cache line that its way touches is cold.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "api/repetition.hpp"
#include "mpi/call.hpp"
#include "mpi/communicators.hpp"
#include "mpi/sides.hpp"

namespace stretto::mpi {

class Kept {
 public:
  // True: a call like this one is kept, and ran; *status is what came of it.
  bool again(const Call& call, const Communicator& c, double timeout, stretto_status* status) const noexcept;

  // serve() just ran this call exactly, and passed `passed`. Kept, if the next one like it goes straight, without copies of its data.
  void keep(const Call& call, const Communicator& c, const Passed& passed) noexcept;

 private:
  // All that decides how a call runs. Handles stay what they are: types whose elements lie dense for all to see are the MPI's own, as are the
  // operations of reductions that are served; others are compared, and mean nothing.
  struct Key {
    Operation operation{};
    std::uint8_t buffers = 0;  // api::kind_of(), as passed
    std::uint16_t extent = 0;  // as of sides_of()
    std::uint32_t sendcount = 0, recvcount = 0;
    int root = 0;
    MPI_Datatype sendtype = MPI_DATATYPE_NULL, recvtype = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
  };
  struct alignas(64) Line {
    Key key;
    api::Repetition call;  // empty: an empty line
  };
  static_assert(sizeof(Line) == 64);
  static std::size_t place_of(const Call& call) noexcept;

  static constexpr std::size_t lines = 64;
  std::array<Line, lines> lines_;
};

}  // namespace stretto::mpi
