#include "reduction.hpp"

#include <stdexcept>

#include "stretto/stretto_mpi.h"

namespace stretto::programs {
namespace {

void must(stretto_status status) {
  if (status != STRETTO_OK) throw std::runtime_error(stretto_message());
}

}  // namespace

Reduction::Reduction(ReductionKind kind) : kind_(kind) {
  if (kind_ == ReductionKind::stretto) must(stretto_comm_create(MPI_COMM_WORLD, &comm_));
}

Reduction::~Reduction() {
  stretto_request_free(&operation_);
  if (comm_ != nullptr) stretto_comm_free(comm_);
}

void Reduction::start(double mine) {
  mine_ = mine;
  started_ = true;
  switch (kind_) {
    case ReductionKind::blocking: MPI_Allreduce(&mine_, &largest_, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); return;
    case ReductionKind::started:
      MPI_Iallreduce(&mine_, &largest_, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request_);
      return;
    case ReductionKind::stretto:
      must(stretto_iallreduce(&mine_, &largest_, 1, STRETTO_F64, STRETTO_MAX, comm_, nullptr, &operation_));
      return;
  }
}

std::optional<double> Reduction::finish() {
  if (!started_) return std::nullopt;
  started_ = false;
  if (kind_ == ReductionKind::started) MPI_Wait(&request_, MPI_STATUS_IGNORE);
  if (kind_ == ReductionKind::stretto) {
    must(stretto_wait(operation_));
    stretto_request_free(&operation_);
  }
  return largest_;
}

}  // namespace stretto::programs
