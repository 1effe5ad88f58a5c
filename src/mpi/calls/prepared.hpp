// An equal call runs after one comparison. Touches few cache lines, all cold after a system call.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "api/operation/prepared.hpp"
#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

struct Communicator;
struct PassedBuffers;

class PreparedByArguments {
 public:
  // True: an equal call was cached; *status is its result.
  bool again(const WrappedCall& call, const Communicator& c, double timeout, stretto_status* status) const noexcept;

  // After serve(); caches a call if an equal one can run without copies of its data.
  void keep(const WrappedCall& call, const Communicator& c, const PassedBuffers& passed) noexcept;

  void clear() noexcept { lines_.clear(); }

 private:
  // Handles stay valid: dense types and served operations are predefined, or are only compared.
  struct Key {
    Function operation{};
    std::uint8_t buffers = 0;
    std::uint16_t extent = 0;
    std::uint32_t sendcount = 0, recvcount = 0;
    int root = 0;
    MPI_Datatype sendtype = MPI_DATATYPE_NULL, recvtype = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
  };
  struct alignas(64) Line {
    Key key;
    api::Prepared call;
  };
  static_assert(sizeof(Line) == 64);
  static std::size_t hash_of(const WrappedCall& call) noexcept;

  api::PreparedLines<Line> lines_;
};

}  // namespace stretto::mpi
