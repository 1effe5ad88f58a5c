// Communicators over an MPI_Comm.
#include "stretto/stretto_mpi.h"

#include <cstdlib>
#include <memory>

#include "api/communicator.hpp"
#include "api/machine_mpi.hpp"
#include "api/node_mpi.hpp"
#include "api/share_mpi.hpp"
#include "backend/mpi.hpp"
#include "base/positive.hpp"
#include "call/enums.hpp"
#include "carrier/mpi.hpp"
#include "carrier/mpi_limit.hpp"

using namespace stretto;
using call::to_c;

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

// The ranks may not have found each other yet, and no options are given: seconds, negative where there is no limit.
double limit_of_creation() noexcept {
  const char* const text = secure_getenv("STRETTO_TIMEOUT");
  double seconds = -1;
  return text && read_positive(text, &seconds) ? seconds : -1;
}

// Null without memory: the creation goes without a limit, since the other ranks come.
std::unique_ptr<carrier::Watchdog> watchdog_on(MPI_Comm comm) noexcept {
  try {
    return std::make_unique<carrier::Watchdog>(carrier::abort_program(comm, {}));
  } catch (...) {
    return nullptr;
  }
}

// *mpi owns the duplicate as soon as it is made.
Status meet(MPI_Comm duplicate, api::Carriers* c, std::shared_ptr<carrier::Watchdog>* watchdog,
            std::unique_ptr<backend::Backend>* mpi, std::shared_ptr<select::SharedChooser>* chooser) {
  try {
    Status s = carrier::make_mpi_carrier(duplicate, {}, &c->agreement);
    const Status t = carrier::make_mpi_carrier(duplicate, {}, &c->data);  // collective: also when the first failed
    if (s == Status::ok) s = t;
    const Status m = api::find_machine(duplicate, chooser);  // collective, too
    if (s == Status::ok) s = m;
    *watchdog = std::make_shared<carrier::Watchdog>(carrier::abort_program(duplicate, {}));
    *mpi = backend::make_mpi_backend(duplicate, *watchdog);
    return s;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for a communicator"));
  }
}

Status create(MPI_Comm duplicate, std::unique_ptr<backend::Backend>* mpi, std::unique_ptr<backend::NodeBackend>* node,
              std::unique_ptr<stretto_comm_s>* made) {
  api::Carriers c;
  std::shared_ptr<select::SharedChooser> chooser;
  std::shared_ptr<carrier::Watchdog> watchdog;
  // All ranks go on to meet in the node's memory, or none does.
  if (const Status s = api::agree(duplicate, meet(duplicate, &c, &watchdog, mpi, &chooser)); s != Status::ok) return s;
  std::string no_node;
  const Status s = api::find_node(duplicate, chooser->chooser.topology(), chooser->chooser.profile(), &no_node, node);
  if (s != Status::ok) return s;
  try {
    if (*node) watchdog->set_late(carrier::abort_program(duplicate, (*node)->ended()));
    *made = std::make_unique<stretto_comm_s>(std::move(c), std::move(chooser), std::move(no_node));
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
  const double limit = limit_of_creation();
  const std::unique_ptr<carrier::Watchdog> watchdog = limit > 0 ? watchdog_on(parent) : nullptr;
  const carrier::Limited limited(watchdog.get(), "stretto_comm_create", limit);
  if (MPI_Comm_dup(parent, &duplicate) != MPI_SUCCESS) return to_c(fail(Status::mpi_error, "MPI_Comm_dup failed"));
  MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN);
  std::unique_ptr<stretto_comm_s> made;
  std::unique_ptr<backend::Backend> mpi;  // freed after the communicator and the node's, which use the duplicate
  std::unique_ptr<backend::NodeBackend> node;
  Status s = create(duplicate, &mpi, &node, &made);
  if (!comm) s = fail(Status::invalid_argument, "comm is NULL");
  s = api::agree(duplicate, s);
  const bool owned = mpi != nullptr;  // which frees the duplicate
  if (s == Status::ok) {
    made->backends.mpi = std::move(mpi);
    made->backends.node = std::move(node);
    *comm = made.release();
  }
  made.reset();
  node.reset();
  mpi.reset();
  if (!owned) MPI_Comm_free(&duplicate);
  return to_c(s);
}
