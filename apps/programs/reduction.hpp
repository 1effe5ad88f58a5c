// The largest of a value over the ranks: at once, or started and waited for later.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "stretto/stretto_nonblocking.h"

namespace stretto::programs {

enum class ReductionKind : std::uint8_t {
  blocking,  // MPI_Allreduce
  started,   // MPI_Iallreduce, which the MPI drives when it is called
  stretto    // stretto_iallreduce, which communication cores drive where STRETTO_COMM_CORES names some
};

class Reduction {
 public:
  // Collective. Throws std::runtime_error where stretto has no communicator.
  explicit Reduction(ReductionKind kind);
  ~Reduction();
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  bool blocks() const { return kind_ == ReductionKind::blocking; }
  void start(double mine);
  std::optional<double> finish();  // of what was started; nothing where nothing was

 private:
  ReductionKind kind_;
  double mine_ = 0, largest_ = 0;
  bool started_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  stretto_comm comm_ = nullptr;
  stretto_request operation_ = nullptr;
};

}  // namespace stretto::programs
