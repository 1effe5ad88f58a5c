#include "calls/communicator.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

#include "errors.hpp"
#include "interrupt.hpp"
#include "parts.hpp"
#include "stretto/stretto_cuda_collectives.h"
#include "stretto/stretto_nonblocking.h"

namespace nb = nanobind;

namespace stretto::python {

ThreadGroup::ThreadGroup(int ranks) { check(stretto_thread_group_create(ranks, &group_)); }

ThreadGroup::~ThreadGroup() {
  // Cancelled ranks leave communicators behind, whose other ranks may still access this memory.
  if (!cancelled_) static_cast<void>(stretto_thread_group_free(group_));
}

Communicator::Communicator(stretto_comm comm, std::shared_ptr<ThreadGroup> group) noexcept
    : comm_(comm), group_(std::move(group)) {}

Communicator::~Communicator() {
  if (!comm_ || !group_ || group_->cancelled()) return;
  const nb::gil_scoped_release others;  // ranks that used devices wait for one another
  static_cast<void>(stretto_comm_free(comm_));
}

stretto_comm Communicator::get() const {
  if (!comm_) raise(STRETTO_INVALID_ARGUMENT, "the communicator was freed");
  return comm_;
}

void Communicator::free() {
  stretto_status status;
  {
    const nb::gil_scoped_release others;
    status = stretto_comm_free(comm_);
  }
  check(status);
  comm_ = nullptr;
}

namespace {

std::shared_ptr<Communicator> of_threads(std::shared_ptr<ThreadGroup> group, int rank) {
  stretto_comm comm = nullptr;
  stretto_status status;
  {
    const nb::gil_scoped_release others;
    status = stretto_comm_create_threads(group->get(), rank, &comm);
  }
  check(status);
  return std::make_shared<Communicator>(comm, std::move(group));
}

std::shared_ptr<Communicator> of_mpi(std::uintptr_t address) {
  stretto_comm comm = nullptr;
  // mpi4py's MPI_Comm belongs to the MPI that mpi4py loaded.
  const void* const parent = reinterpret_cast<const void*>(address);
  check(interruptible(nullptr, [&] { return stretto_comm_create_from(parent, STRETTO_MPI_LOADED, &comm); }));
  return std::make_shared<Communicator>(comm, nullptr);
}

void set_communication_cores(const std::vector<int>& cores) {
  check(stretto_comm_cores(cores.data(), static_cast<int>(cores.size())));
}

}  // namespace

void add_communicators(nb::module_& m) {
  nb::class_<ThreadGroup>(m, "ThreadGroup").def(nb::init<int>()).def("cancel", &ThreadGroup::cancel);
  nb::class_<Communicator>(m, "Communicator")
      .def("free", &Communicator::free)
      .def("device_done",
           [](const Communicator& self) {
             int done = 0;
             check(stretto_cuda_query(self.get(), &done));
             return done != 0;
           })
      .def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size);
  m.def("of_threads", &of_threads);
  m.def("of_mpi", &of_mpi);
  m.def("of_store", &of_store, nb::arg("store"), nb::arg("rank"), nb::arg("ranks"), nb::arg("name").none(),
        nb::arg("timeout"), nb::arg("transports").none());
  m.def("of_environment", &of_environment, nb::arg("name").none(), nb::arg("timeout"), nb::arg("transports").none());
  m.def("set_communication_cores", &set_communication_cores);
}

}  // namespace stretto::python
