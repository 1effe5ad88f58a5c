// The maximum of a value over the ranks: blocking, or started and waited for later.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "stretto/stretto_nonblocking.h"

namespace stretto::programs {

enum class ReductionKind : std::uint8_t {
  blocking,  // MPI_Allreduce
  started,   // MPI_Iallreduce, which the MPI progresses during calls
  stretto    // stretto_iallreduce, which communication cores drive if STRETTO_COMM_CORES names some
};

class Reduction {
 public:
  // Collective. Throws std::runtime_error if stretto cannot make a communicator.
  explicit Reduction(ReductionKind kind);
  ~Reduction();
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  bool blocks() const { return kind_ == ReductionKind::blocking; }
  void start(double mine);
  std::optional<double> finish();  // result of start(), if called

 private:
  ReductionKind kind_;
  double mine_ = 0, largest_ = 0;
  bool started_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  stretto_comm comm_ = nullptr;
  stretto_request operation_ = nullptr;
};

}  // namespace stretto::programs
