#include "modules/mpi/duplicates.hpp"

#include <utility>

namespace stretto::modules {

Duplicates::Duplicates(Duplicates&& other) noexcept : all_(other.all_), left_(std::exchange(other.left_, 0)) {}

Duplicates::~Duplicates() {
  int over = 0;
  if (left_ == 0 || MPI_Finalized(&over) != MPI_SUCCESS || over) return;
  while (left_ > 0) MPI_Comm_free(&all_[--left_]);
}

bool Duplicates::make(MPI_Comm parent) noexcept {
  while (left_ < all_.size()) {
    if (MPI_Comm_dup(parent, &all_[left_]) == MPI_SUCCESS) {
      ++left_;
      continue;
    }
    while (left_ > 0) MPI_Comm_free(&all_[--left_]);
    return false;
  }
  return true;
}

int Duplicates::take(MPI_Comm parent, MPI_Comm* duplicate) noexcept {
  if (left_ == 0) return MPI_Comm_dup(parent, duplicate);
  *duplicate = all_[--left_];
  return MPI_SUCCESS;
}

}  // namespace stretto::modules
