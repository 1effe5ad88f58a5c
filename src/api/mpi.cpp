// Communicators over an MPI_Comm.
#include "stretto/stretto_mpi.h"

#include <memory>

#include "api/close_mpi.hpp"
#include "api/communicator.hpp"
#include "api/machine_mpi.hpp"
#include "api/native_mpi.hpp"
#include "api/share_mpi.hpp"
#include "api/types.hpp"
#include "carrier/mpi.hpp"

using namespace stretto;
using api::to_c;

namespace {

Status usable(MPI_Comm parent) {
  int initialised = 0, finalised = 0, inter = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (!initialised || finalised)
    return fail(Status::invalid_argument, "MPI is {}", finalised ? "finalised" : "not initialised");
  if (parent == MPI_COMM_NULL) return fail(Status::invalid_argument, "the communicator is MPI_COMM_NULL");
  if (MPI_Comm_test_inter(parent, &inter) != MPI_SUCCESS) return fail(Status::mpi_error, "MPI_Comm_test_inter failed");
  return inter ? fail(Status::unsupported, "an intercommunicator") : Status::ok;
}

// natives->mpi owns the duplicate as soon as it is made.
Status meet(MPI_Comm duplicate, api::Carriers* c, api::Natives* natives, std::shared_ptr<api::SharedChooser>* chooser) {
  try {
    Status s = carrier::make_mpi_carrier(duplicate, {}, &c->agreement);
    const Status t = carrier::make_mpi_carrier(duplicate, {}, &c->data);  // collective: also when the first failed
    if (s == Status::ok) s = t;
    const Status m = api::find_machine(duplicate, chooser);  // collective, too
    if (s == Status::ok) s = m;
    natives->mpi = api::make_mpi_native(duplicate);
    return s;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for a communicator"));
  }
}

Status create(MPI_Comm duplicate, api::Natives* natives, std::unique_ptr<stretto_comm_s>* made) {
  api::Carriers c;
  std::shared_ptr<api::SharedChooser> chooser;
  // All ranks go on to meet in the node's memory, or none does.
  if (const Status s = api::agree(duplicate, meet(duplicate, &c, natives, &chooser)); s != Status::ok) return s;
  const Status s = api::find_close(duplicate, chooser->chooser.topology(), chooser->chooser.profile(),
                                   &natives->no_node, &natives->node);
  if (s != Status::ok) return s;
  try {
    *made = std::make_unique<stretto_comm_s>(std::move(c), std::move(chooser));
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for a communicator"));
  }
}

}  // namespace

extern "C" stretto_status stretto_comm_create(MPI_Comm parent, stretto_comm* comm) {
  if (comm) *comm = nullptr;
  if (Status s = usable(parent); s != Status::ok) return to_c(s);
  MPI_Comm duplicate = MPI_COMM_NULL;
  if (MPI_Comm_dup(parent, &duplicate) != MPI_SUCCESS) return to_c(fail(Status::mpi_error, "MPI_Comm_dup failed"));
  MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN);
  std::unique_ptr<stretto_comm_s> made;
  api::Natives natives;
  Status s = create(duplicate, &natives, &made);
  if (!comm) s = fail(Status::invalid_argument, "comm is NULL");
  s = api::agree(duplicate, s);
  const bool owned = natives.mpi != nullptr;  // which frees the duplicate
  if (s == Status::ok) {
    made->carriers.natives = std::move(natives);
    *comm = made.release();
  }
  made.reset();
  if (!owned) MPI_Comm_free(&duplicate);
  return to_c(s);
}
