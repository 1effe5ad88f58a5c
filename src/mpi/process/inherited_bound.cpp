#include "mpi/process/inherited_bound.hpp"

#include <memory>
#include <new>

namespace stretto::mpi {
namespace {

struct BoundAttribute {
  Bound bound;
  bool open;
};

// Without memory the duplicate fails: only some ranks would have the bound.
int copy_bound(MPI_Comm, int, void*, void* value, void* copy, int* copied) noexcept {
  const BoundAttribute& attribute = *static_cast<const BoundAttribute*>(value);
  *copied = 0;
  if (!attribute.open) return MPI_SUCCESS;
  auto* own = new (std::nothrow) BoundAttribute{attribute.bound, false};
  if (!own) return MPI_ERR_NO_MEM;
  *static_cast<void**>(copy) = own;
  *copied = 1;
  return MPI_SUCCESS;
}

int drop(MPI_Comm, int, void* value, void*) noexcept {
  delete static_cast<BoundAttribute*>(value);
  return MPI_SUCCESS;
}

int keyval_of_bound() noexcept {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(copy_bound, drop, &made, nullptr) != MPI_SUCCESS) made = MPI_KEYVAL_INVALID;
    return made;
  }();
  return key;
}

}  // namespace

bool hand_on(MPI_Comm parent, const Bound& bound) {
  if (keyval_of_bound() == MPI_KEYVAL_INVALID) return false;
  auto attribute = std::make_unique<BoundAttribute>(BoundAttribute{bound, true});
  if (PMPI_Comm_set_attr(parent, keyval_of_bound(), attribute.get()) != MPI_SUCCESS) return false;
  static_cast<void>(attribute.release());
  return true;
}

void end_inheritance(MPI_Comm parent) noexcept { PMPI_Comm_delete_attr(parent, keyval_of_bound()); }

std::optional<Bound> inherited_bound(MPI_Comm comm) noexcept {
  BoundAttribute* attribute = nullptr;
  int present = 0;
  if (keyval_of_bound() == MPI_KEYVAL_INVALID ||
      PMPI_Comm_get_attr(comm, keyval_of_bound(), &attribute, &present) != MPI_SUCCESS || !present)
    return std::nullopt;
  return attribute->bound;
}

}  // namespace stretto::mpi
