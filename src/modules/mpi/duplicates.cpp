#include "modules/mpi/duplicates.hpp"

#include <utility>

namespace stretto::modules {

ErrorsReturned::ErrorsReturned(MPI_Comm comm) noexcept : comm_(comm) {
  if (MPI_Comm_get_errhandler(comm, &before_) == MPI_SUCCESS) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

ErrorsReturned::~ErrorsReturned() {
  if (before_ == MPI_ERRHANDLER_NULL) return;
  MPI_Comm_set_errhandler(comm_, before_);
  MPI_Errhandler_free(&before_);
}

Duplicates::Duplicates(Duplicates&& other) noexcept : all_(other.all_), left_(std::exchange(other.left_, 0)) {}

Duplicates::~Duplicates() {
  int over = 0;
  if (left_ == 0 || MPI_Finalized(&over) != MPI_SUCCESS || over) return;
  while (left_ > 0) MPI_Comm_free(&all_[--left_]);
}

// A failed rank still makes the next duplicates: other ranks wait for it.
bool Duplicates::make(MPI_Comm parent) noexcept {
  const ErrorsReturned returned(parent);
  int mine = 1, all = 0;
  for (std::size_t i = left_; i < all_.size(); ++i) {
    if (MPI_Comm_dup(parent, &all_[left_]) == MPI_SUCCESS)
      ++left_;
    else
      mine = 0;
  }
  if (MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, parent) == MPI_SUCCESS && all == 1) return true;
  while (left_ > 0) MPI_Comm_free(&all_[--left_]);
  return false;
}

int Duplicates::take(MPI_Comm parent, MPI_Comm* duplicate) noexcept {
  if (left_ == 0) return MPI_Comm_dup(parent, duplicate);
  *duplicate = all_[--left_];
  return MPI_SUCCESS;
}

}  // namespace stretto::modules
